import type { Lease } from '../../platform/runs/run-queue.ts'
import type { EncodedEntries } from '../../platform/runs/journal-entries.ts'
import type { Written } from '../../platform/runs/record-progress.ts'

/** The runs whose entries are committed together at the most. */
const RUNS_MAX = 200
/** The characters that are committed together at the most. */
const CHARACTERS_MAX = 1_048_576
/** A run that reports more at a time is written by itself, so that the others need not wait. */
const LARGE_CHARACTERS = 131_072

/** Entries of a run that wait for their commit. */
export interface Part {
  readonly entries: EncodedEntries
  /** The same for all parts of a line. */
  readonly signal: AbortSignal
  readonly giveUpAt: number
  readonly resolve: (written: Written) => void
  readonly reject: (reason: unknown) => void
}

/** What one attempt at a run reported and is not committed, the oldest first. */
export interface Line {
  readonly lease: Lease
  readonly parts: Part[]
  /** Some of it is written at this moment: what follows waits for that. */
  isHeld: boolean
  /** The database refused some of it: each part has a commit of its own from then on. */
  isRefused: boolean
}

/** The first parts of a line, which are committed at a time. */
export interface Share {
  readonly line: Line
  readonly count: number
}

/** What is written next. */
interface Taken {
  /** In one commit. */
  readonly shares: readonly Share[]
  /** Each by itself. */
  readonly large: readonly Line[]
}

/** Takes what the next commit has room for; the other lines stay in the set. */
export function takeShares(waiting: Set<Line>): Taken {
  const shares: Share[] = []
  const large: Line[] = []
  let room = CHARACTERS_MAX
  for (const line of waiting) {
    if (room <= 0 || shares.length === RUNS_MAX) break
    waiting.delete(line)
    dropAborted(line)
    const count = line.parts.length
    const characters = line.parts.reduce((sum, { entries }) => sum + entries.characters, 0)
    if (characters > LARGE_CHARACTERS) {
      large.push(line)
    } else if (count > 0) {
      shares.push({ line, count })
      room -= characters
    }
  }
  return { shares, large }
}

function dropAborted({ parts }: Line): void {
  if (parts[0]?.signal.aborted !== true) return
  for (const { signal, reject } of parts.splice(0)) reject(signal.reason)
}

/** Rejects the parts whose time is over. */
export function giveUpOld({ parts }: Line, reason: unknown): void {
  while (parts[0] && performance.now() >= parts[0].giveUpAt) parts.shift()?.reject(reason)
}

/** Takes the first parts off a line, written together: the first one hears of warnings. */
export function resolveParts({ parts }: Line, count: number, written: Written): void {
  const [first, ...others] = parts.splice(0, count)
  first?.resolve(written)
  const { state, booking } = written
  const rest = booking ? { state, booking: { ...booking, warnings: [] } } : written
  for (const { resolve } of others) resolve(rest)
}
