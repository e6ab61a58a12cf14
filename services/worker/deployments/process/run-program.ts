import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { pipeline } from 'node:stream/promises'

/** After this, pipes that a child of the program holds open are no longer waited for. */
const PIPES_MS = 2000

/** A program to run in a process group of its own. */
export interface Program {
  readonly file: string
  readonly args: readonly string[]
  readonly directory: string
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>
  /** The most private memory of each of its processes, in bytes. */
  readonly memoryBytes?: number | undefined
  /** Called with complete lines of what it prints. */
  readonly onLines: (lines: string) => void
  /** What it reads; it is closed at the end. @default nothing */
  readonly input?: AsyncIterable<Uint8Array> | undefined
}

/** How a program ended. */
export interface ProgramEnd {
  /** null: a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it could not be started. */
  readonly error?: string
}

/** A program that runs, with everything that it started. */
export interface RunningProgram {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined
  /** Resolves once it has ended and nothing of it is left. */
  readonly ended: Promise<ProgramEnd>
  /** The end of what it printed. */
  readonly lastLines: () => string
  /** Asks it to end, and ends all of its processes when the time is over. */
  end(graceMs: number): Promise<void>
}

/**
 * Starts a program with lowered priority, and with a limit on its memory. It cannot ask for a
 * password: its input is closed.
 */
export function startProgram(program: Program): RunningProgram {
  const { file, args, directory, env, memoryBytes, onLines, input } = program
  const tail = createLineTail(onLines)
  // Data, not addresses: libraries reserve far more of these than they use.
  const limit = memoryBytes === undefined ? '' : `ulimit -d ${Math.ceil(memoryBytes / 1024)} && `
  const child = spawn('/bin/sh', ['-c', `${limit}exec nice -n 5 "$@" 2>&1`, 'sh', file, ...args], {
    cwd: directory,
    env: { ...env },
    detached: true,
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'ignore'],
  })
  child.stdout?.setEncoding('utf8').on('data', tail.add)
  // One that ends before it has read everything says why itself.
  if (input && child.stdin) pipeline(input, child.stdin).catch(() => {})
  const ended = waitForEnd(child, tail)
  return {
    pid: child.pid,
    ended,
    lastLines: tail.text,
    async end(graceMs) {
      if (graceMs > 0) child.kill('SIGTERM')
      const timer = setTimeout(() => killGroup(child.pid), graceMs)
      await ended
      clearTimeout(timer)
    },
  }
}

function waitForEnd(child: ChildProcess, tail: LineTail): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    let end: ProgramEnd | undefined
    const settle = (): void => {
      tail.end()
      resolve(end ?? { code: null, signal: null })
    }
    child.once('error', ({ message }) => {
      end = { code: null, signal: null, error: message }
      settle()
    })
    child.once('exit', (code, signal) => {
      end = { code, signal }
      // What it started and left behind must not go on.
      killGroup(child.pid)
      setTimeout(settle, PIPES_MS).unref()
    })
    child.once('close', settle)
  })
}

/** Ends a process and all that it started, at once. */
export function killGroup(pid: number | undefined): void {
  if (pid !== undefined) killProcess(-pid)
}

/** Ends a process at once, or the group of one whose number is negative. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
}

/** A sentence about how a program ended. */
export function describeEnd({ code, signal, error }: ProgramEnd): string {
  if (error !== undefined) return `could not be started (${error})`
  return signal === null ? `ended with exit code ${code}` : `was ended by the signal ${signal}`
}

/** A line that is longer is cut here. */
const LINE_CHARACTERS_MAX = 4000
const LINES_KEPT = 30
const CHARACTERS_KEPT = 2500

/** Reads what a program prints line by line, and keeps the last ones. */
interface LineTail {
  readonly add: (chunk: string) => void
  /** Ends a last line that has no end. */
  readonly end: () => void
  /** The last lines, each with its end. */
  readonly text: () => string
}

/** Creates a tail that calls `onLines` with all complete lines of each chunk. */
function createLineTail(onLines: (lines: string) => void): LineTail {
  const kept: string[] = []
  let rest = ''

  function take(lines: readonly string[]): void {
    const cut = lines.map((line) => line.replace(/\r$/, '').slice(0, LINE_CHARACTERS_MAX))
    if (cut.length === 0) return
    kept.push(...cut.slice(-LINES_KEPT))
    kept.splice(0, Math.max(0, kept.length - LINES_KEPT))
    onLines(cut.map((line) => `${line}\n`).join(''))
  }

  return {
    add(chunk) {
      const lines = (rest + chunk).split('\n')
      // One without an end is not gathered for ever.
      rest = (lines.pop() ?? '').slice(0, LINE_CHARACTERS_MAX)
      take(lines)
    },
    end() {
      if (rest !== '') take([rest])
      rest = ''
    },
    text: () =>
      kept
        .map((line) => `${line}\n`)
        .join('')
        .slice(-CHARACTERS_KEPT),
  }
}
