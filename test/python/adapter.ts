import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { dirname, join } from 'node:path'
import { freePort } from '../support/free-port.ts'

/** The token of the crews of these tests. */
export const TOKEN = 'token-of-the-crew'
/** More than it waits for runs, and for their processes. */
const STOP_MS = 45_000
const SOURCES = new URL('../../python/crew-runtime/src', import.meta.url).pathname

/** Why nothing of Python is tested, if so. */
export function whyNoPython(python = 'python3'): string | undefined {
  const check = 'import sys; sys.exit(sys.version_info < (3, 10))'
  const { status, error } = spawnSync(python, ['-c', check])
  if (error) return `no ${python} is on the PATH`
  return status === 0 ? undefined : `${python} is older than 3.10`
}

/** Writes the files of a project into a folder of its own. */
export async function writeProject(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'project-'))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}

interface AdapterOptions {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** @default python3 */
  readonly python?: string
  /** @default a free one */
  readonly port?: number
}

/** Starts `python -m crew_runtime` with nothing of this machine's variables but the PATH. */
export async function startAdapter(options: AdapterOptions) {
  const { args = [], env = {}, python = 'python3', port = await freePort() } = options
  const home = await mkdtemp(join(tmpdir(), 'adapter-'))
  const child = spawn(python, ['-m', 'crew_runtime', ...args], {
    cwd: home,
    env: {
      PATH: process.env['PATH'],
      PYTHONPATH: SOURCES,
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONFAULTHANDLER: '1',
      HOME: home,
      TMPDIR: home,
      CREW_TOKEN: TOKEN,
      PORT: String(port),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => Number(code))
  return {
    url: `http://127.0.0.1:${port}`,
    home,
    log: () => log,
    output: () => output,
    ended,
    /** Ends it at once; its runs end by themselves. */
    kill: async (): Promise<void> => {
      child.kill('SIGKILL')
      await ended
    },
    /** Asks it to end, and returns its exit code. */
    stop: async (): Promise<number> => {
      child.kill()
      const code = await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })])
      if (code !== undefined) return code
      // It writes where each of its threads is.
      child.kill('SIGABRT')
      await ended
      throw new Error(`The adapter did not end within ${STOP_MS / 1000} s: ${log}`)
    },
    /** Raises an error when it ends instead. */
    ready: async (): Promise<void> => {
      while (!log.includes('listens on')) {
        const over = await Promise.race([once(child.stderr, 'data'), ended])
        if (typeof over === 'number') throw new Error(`The adapter ended with ${over}: ${log}`)
      }
    },
  }
}
