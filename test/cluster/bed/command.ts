import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'

interface CommandOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Default: two minutes. */
  readonly timeoutMs?: number
  /** A file that gets everything the command prints. */
  readonly log?: string
}

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, however it ends. Raises only when it cannot be started. */
export async function attempt(
  [program = '', ...args]: readonly string[],
  { cwd, env, input = '', timeoutMs = 120_000, log }: CommandOptions = {},
): Promise<Outcome> {
  const signal = AbortSignal.timeout(timeoutMs)
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, signal })
  const failure = once(child, 'error').then(([error]: unknown[]) => error)
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  if (log) {
    const file = createWriteStream(log)
    child.stdout.pipe(file, { end: false })
    child.stderr.pipe(file, { end: false })
    child.once('close', () => file.end())
  }
  child.stdin.on('error', () => undefined).end(input)
  const ended = await Promise.race([once(child, 'close'), failure])
  if (Array.isArray(ended)) return { code: Number(ended[0] ?? 1), stdout, stderr }
  if (!signal.aborted) throw new Error(`${program} cannot be started`, { cause: ended })
  return { code: 124, stdout, stderr: `${stderr}\nno end after ${timeoutMs / 1000} s` }
}

/**
 * Runs a program that has to succeed and returns what it printed. Raises with the end of its
 * output.
 */
export async function command(
  words: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await attempt(words, options)
  if (code === 0) return stdout
  const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n')
  throw new Error(`${words.join(' ').slice(0, 300)}\nended with ${code}:\n${said}`)
}
