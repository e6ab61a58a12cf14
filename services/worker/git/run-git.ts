import { startProgram } from '../deployments/process/run-program.ts'
import type { ProgramEnd } from '../deployments/process/run-program.ts'

/** Of each process of git. */
const MEMORY_BYTES = 1024 * 1024 * 1024
const BLOCK_BYTES = 512
const NOT_FOUND = 127

interface GitCall {
  readonly args: readonly string[]
  readonly directory: string
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>
  /** The largest file that it may write. */
  readonly fileBytesMax: number
  readonly signal: AbortSignal
}

/** How a call of git ended. */
export interface GitEnd extends ProgramEnd {
  /** The end of what it printed. */
  readonly output: string
  readonly isMissing: boolean
  /** It wanted to write a larger file than it may. */
  readonly isTooLarge: boolean
}

/** Runs git without a shell of its own to ask, and ends all of it when the signal aborts. */
export async function runGit(call: GitCall): Promise<GitEnd> {
  const { args, directory, env, fileBytesMax, signal } = call
  signal.throwIfAborted()
  const blocks = Math.ceil(fileBytesMax / BLOCK_BYTES)
  const program = startProgram({
    file: '/bin/sh',
    args: ['-c', `ulimit -c 0; ulimit -f ${blocks} && exec git "$@"`, 'sh', ...args],
    directory,
    env,
    memoryBytes: MEMORY_BYTES,
    onLines: () => {},
  })
  const stop = (): void => void program.end(0)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const end = await program.ended
    signal.throwIfAborted()
    const output = program.lastLines()
    return {
      ...end,
      output,
      isMissing: end.code === NOT_FOUND,
      isTooLarge: isTooLarge(end, output),
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** A file that is too large ends the process that writes it, without a word of its own. */
const isTooLarge = ({ signal }: ProgramEnd, output: string): boolean =>
  signal === 'SIGXFSZ' ||
  /^fatal: (fetch-pack: )?invalid index-pack output$/.test(output.trim()) ||
  /died of signal 25|File too large|File size limit/i.test(output)
