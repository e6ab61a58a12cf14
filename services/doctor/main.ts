import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { runDoctor } from './doctor.ts'

// oxlint-disable-next-line node/no-process-env
void runDoctor(process.argv.slice(2), process.env, {
  say: (text) => void process.stderr.write(text),
  sleep: (ms) => sleep(ms),
  now: () => performance.now(),
  confirm: process.stdin.isTTY && process.stderr.isTTY ? confirm : undefined,
}).then(({ exitCode, stdout, stderr, archive }) => {
  process.stderr.write(stderr)
  process.stdout.write(archive ?? stdout)
  process.exitCode = exitCode
})

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const closed = new AbortController()
  terminal.once('close', () => closed.abort())
  const { signal } = closed
  const text = await terminal.question(`${question} [y/N] `, { signal }).catch(() => '')
  terminal.close()
  return /^\s*y(es)?\s*$/i.test(text)
}
