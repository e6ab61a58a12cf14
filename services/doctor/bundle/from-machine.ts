import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isSecretName } from '../../shared/redact.ts'
import { ask } from '../ask.ts'
import type { AskOptions } from '../ask.ts'
import { deadline } from '../../shared/deadline.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'
import type { Collection } from './collection.ts'

const TAIL_BYTES_MAX = 1 << 20
const ANSWER_BYTES_MAX = 4 << 20

/** Collects the report of an address, and its lightweight health. */
export async function collectAddress(
  url: string,
  options: AskOptions,
  collection: Collection,
): Promise<void> {
  collection.redaction.learn([options.token])
  const { timeoutMs } = options
  await collection.part(`/health of ${url}`, async () => {
    const text = await deadline({ name: url, timeoutMs }, async (signal) => {
      const response = await fetch(`${url}/health`, { signal, redirect: 'manual' })
      return `HTTP ${response.status}\n${await readBounded(response, ANSWER_BYTES_MAX)}\n`
    })
    collection.addText('address/health.txt', text)
  })
  if (options.token === '') {
    return collection.note(`the diagnostic report of ${url}`, 'PLATFORM_DEBUG_TOKEN is not set')
  }
  const { report, problem } = await ask(url, options)
  if (report) collection.addJson('address/report.json', report)
  else collection.note(`the diagnostic report of ${url}`, problem)
}

/** Collects from the data directory of `npm start` its settings and the end of its log. */
export async function collectDirectory(directory: string, collection: Collection): Promise<void> {
  await collection.part(`the settings in ${directory}`, async () => {
    const text = await readFile(join(directory, 'platform.env'), 'utf8')
    const pairs = [...text.matchAll(/^export (\w+)=(.*)$/gm)].map(
      ([, name = '', value = '']): [string, string] => [name, value.replace(/^'(.*)'$/, '$1')],
    )
    const isSecret = (name: string): boolean => isSecretName(name) || /AUTH|COOKIE/.test(name)
    collection.redaction.learn(pairs.flatMap(([name, value]) => (isSecret(name) ? [value] : [])))
    const shown = pairs.map(([name, value]) => [name, isSecret(name) ? '[redacted]' : value])
    collection.addJson('machine/settings.json', Object.fromEntries(shown))
  })
  for (const name of ['platform.log', 'platform.log.1']) {
    await collection.part(`${name} in ${directory}`, async () => {
      collection.addText(`machine/${name}`, await readTail(join(directory, name)))
    })
  }
}

async function readTail(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const length = Math.min(size, TAIL_BYTES_MAX)
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    // The first line may be cut in the middle of a secret.
    return size > length
      ? buffer.toString('utf8').replace(/^[^\n]*\n/, '')
      : buffer.toString('utf8')
  } finally {
    await file.close()
  }
}
