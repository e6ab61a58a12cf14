import type { Lease } from '../platform/run-queue.ts'
import type { EncodedEntries } from '../platform/run-steps.ts'

/** The runs whose entries are committed together at the most. */
const RUNS_MAX = 200
/** The characters that are committed together at the most, unless one run reports more at once. */
const CHARACTERS_MAX = 4_194_304

/** Entries of a run that wait for their commit. */
export interface Part {
  readonly entries: EncodedEntries
  /** The same for all parts of a line. */
  readonly signal: AbortSignal
  readonly giveUpAt: number
  readonly resolve: (isOurs: boolean) => void
  readonly reject: (reason: unknown) => void
}

/** What one attempt at a run reported and is not committed, the oldest first. */
export interface Line {
  readonly lease: Lease
  readonly parts: Part[]
  /** It is written by itself at this moment. */
  isAlone: boolean
  /** The database refused some of it: it is never written with others again. */
  isRefused: boolean
}

/** The first parts of a line, which are committed at a time. */
export interface Share {
  readonly line: Line
  readonly count: number
}

/** Takes what the next commit has room for. Lines without parts leave the set. */
export function takeShares(waiting: Set<Line>): Share[] {
  const shares: Share[] = []
  let characters = 0
  for (const line of waiting) {
    dropAborted(line)
    let count = 0
    for (const { entries } of line.parts) {
      if (characters > 0 && characters + entries.characters > CHARACTERS_MAX) break
      characters += entries.characters
      count += 1
    }
    if (line.parts.length === 0) waiting.delete(line)
    if (count > 0) shares.push({ line, count })
    if (shares.length >= RUNS_MAX || characters > CHARACTERS_MAX) break
  }
  // The others are the first of the next commit.
  for (const { line } of shares) {
    waiting.delete(line)
    waiting.add(line)
  }
  return shares
}

function dropAborted({ parts }: Line): void {
  if (parts[0]?.signal.aborted !== true) return
  for (const { signal, reject } of parts.splice(0)) reject(signal.reason)
}

/** Rejects the parts whose time is over. */
export function giveUpOld({ parts }: Line, reason: unknown): void {
  while (parts[0] && performance.now() >= parts[0].giveUpAt) parts.shift()?.reject(reason)
}
