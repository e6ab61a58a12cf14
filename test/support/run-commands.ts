import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'

/** Runs commands in a shell, to their end. Raises an error with what they wrote if they fail. */
export async function runCommands(
  commands: string,
  { folder, env, signal }: { folder: string; env: Record<string, string>; signal: AbortSignal },
): Promise<string> {
  const path = [join(folder, '.venv/bin'), process.env['PATH']].join(delimiter)
  const child = spawn('bash', ['-e', '-c', commands], {
    cwd: folder,
    env: { ...process.env, PATH: path, VIRTUAL_ENV: join(folder, '.venv'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what the shell started ends with it.
    detached: true,
  })
  const stop = (): void => void process.kill(-(child.pid ?? 0))
  signal.addEventListener('abort', stop, { once: true })
  let written = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (written += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  signal.removeEventListener('abort', stop)
  if (code === 0 || signal.aborted) return written
  throw new Error(`${commands}\nended with ${code}:\n${written.slice(-4000)}`)
}
