import { execFile, fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** What else queues work in PostgreSQL, and how much of it a round has. */
const CONTENDERS = {
  /** Workflows of two steps, fifty at a time within one process. */
  dbos: { package: '@dbos-inc/dbos-sdk@5.3.0', count: 1000 },
  /** Jobs without any work, twenty at a time within one process. */
  'graphile-worker': { package: 'graphile-worker@0.16.6', count: 2000 },
} as const

type Name = keyof typeof CONTENDERS

/** A contender in a process of its own. */
export interface Contender {
  readonly name: Name
  /** Does a round, and returns how many a second that were. */
  round(): Promise<number>
  stop(): Promise<void>
}

/** Starts the contenders on a server, each in a database of its own. */
export async function startContenders(server: string): Promise<Contender[]> {
  const names = Object.keys(CONTENDERS) as Name[]
  return Promise.all(names.map((name) => startContender(name, server)))
}

async function startContender(name: Name, server: string): Promise<Contender> {
  const { count } = CONTENDERS[name]
  const packages = await installContender(name)
  const program = fileURLToPath(new URL('contender.ts', import.meta.url))
  const database = `contender_${name.replace('-', '_')}`
  const child = fork(program, [name, packages, server, database], {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await next(child)
  return {
    name,
    async round() {
      child.send(count)
      const seconds = Number(await next(child))
      return count / seconds
    },
    async stop() {
      const ended = once(child, 'exit')
      child.disconnect()
      await ended
    },
  }
}

/** The next message of a program. Raises when it ends before. */
async function next(child: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  const { signal } = over
  const ended = once(child, 'exit', { signal }).then(([code]: unknown[]) => {
    throw new Error(`a contender ended with ${String(code)}`)
  })
  try {
    const [message]: unknown[] = await Promise.race([once(child, 'message', { signal }), ended])
    return message
  } finally {
    ended.catch(() => {})
    over.abort()
  }
}

/** Installs a contender in the user's cache, once, and returns where. */
export async function installContender(name: Name): Promise<string> {
  const wanted = CONTENDERS[name].package
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const folder = join(cache, 'crew-platform/contenders', wanted.replaceAll(/[^a-z0-9.-]+/g, '-'))
  const isThere = await access(join(folder, 'node_modules')).then(
    () => true,
    () => false,
  )
  if (isThere) return folder
  await mkdir(folder, { recursive: true })
  const line = ['install', '--silent', '--no-audit', '--prefix', folder, wanted]
  await promisify(execFile)('npm', line)
  return folder
}
