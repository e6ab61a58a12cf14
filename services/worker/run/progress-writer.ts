import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_SECONDS } from '../../platform/runs/run-queue.ts'
import type { Lease } from '../../platform/runs/run-queue.ts'
import { encodeEntries, joinEntries } from '../../platform/runs/journal-entries.ts'
import { recordEncoded, recordTogether } from '../../platform/runs/record-progress.ts'
import type {
  JournalEntries,
  RunEntries,
  EncodedEntries,
} from '../../platform/runs/journal-entries.ts'
import type { Written } from '../../platform/runs/record-progress.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { isRefused, retryStatement } from './retry-statement.ts'

/** The runs whose entries are committed together at the most. */
const RUNS_MAX = 200
/** The characters that are committed together at the most. */
const CHARACTERS_MAX = 1_048_576
/** A run that reports more at a time is written by itself, so that the others need not wait. */
const LARGE_CHARACTERS = 131_072

/** Entries of a run that wait for their commit. */
interface Part {
  readonly entries: EncodedEntries
  /** The same for all parts of a line. */
  readonly signal: AbortSignal
  readonly giveUpAt: number
  readonly resolve: (written: Written) => void
  readonly reject: (reason: unknown) => void
}

/** What one attempt at a run reported and is not committed, the oldest first. */
interface Line {
  readonly lease: Lease
  readonly parts: Part[]
  /** Some of it is written at this moment: what follows waits for that. */
  isHeld: boolean
  /** The database refused some of it: each part has a commit of its own from then on. */
  isRefused: boolean
}

/** The first parts of a line, which are committed at a time. */
interface Share {
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

const RETRY_MS = 500
/** The server ends a statement earlier; a connection may be cut off without a word. */
const COMMIT_MS = 35_000

/** Commits what the runs of a worker report. */
export interface ProgressWriter {
  /** Begins to write for an attempt at a run. */
  open(lease: Lease): RunWriter
}

/** Commits what one attempt reports, in its order. */
interface RunWriter {
  /**
   * Resolves once the entries are committed, with what was booked in that commit, or with `lost`
   * when the run is no longer this worker's. Raises the database's refusal, its last failure when
   * it stays unavailable for as long as the lease, and the signal's reason. The signal is the same
   * at each call.
   */
  write(entries: JournalEntries, signal: AbortSignal): Promise<Written>
}

/** The connections of a writer. */
interface WriterPools {
  /**
   * For the commits of many runs, one at a time on each, and nothing else: they wait for no other
   * statement. The first of them that is free is used, whose caches are warm.
   */
  readonly together: readonly Database[]
  /** For what a run has to write by itself. */
  readonly alone: Database
}

/**
 * Commits what the runs of a worker report together, in a commit at a time on each connection, each
 * of other runs: what is reported meanwhile is in the next one. There is no timer, so commits grow
 * only while the database is busy. Some runs are written by themselves, so that they delay and fail
 * no others: one that reports much at a time, that somebody else is changing, or of which the
 * database refuses something. What waits is bounded for each run, by whoever reads what it reports.
 */
export function createProgressWriter({ together, alone }: WriterPools): ProgressWriter {
  const waiting = new Set<Line>()
  const busy = new Set<Database>()

  async function writeAll(sql: Database): Promise<void> {
    while (waiting.size > 0) {
      const { shares, large } = takeShares(waiting)
      for (const line of large) startAlone(line)
      if (shares.length > 0) await writeShares(sql, shares)
    }
    busy.delete(sql)
  }

  async function writeShares(sql: Database, shares: readonly Share[]): Promise<void> {
    for (const { line } of shares) line.isHeld = true
    const passed = await writeTogether(sql, shares)
    for (const { line } of shares) {
      line.isHeld = false
      if (passed.has(line)) startAlone(line)
      else if (line.parts.length > 0) waiting.add(line)
    }
  }

  function startAlone(line: Line): void {
    waiting.delete(line)
    void writeAlone(alone, line)
  }

  function schedule(line: Line): void {
    if (line.isHeld) return
    if (line.isRefused) return startAlone(line)
    waiting.add(line)
    const sql = together.find((each) => !busy.has(each))
    if (!sql) return
    busy.add(sql)
    // What is reported in one turn of the event loop shares a commit.
    setImmediate(() => void writeAll(sql))
  }

  return {
    open(lease) {
      const line: Line = { lease, parts: [], isHeld: false, isRefused: false }
      return {
        write: (given, signal) =>
          new Promise((resolve, reject) => {
            const entries = encodeEntries(given)
            const giveUpAt = performance.now() + LEASE_SECONDS * 1000
            line.parts.push({ entries, signal, giveUpAt, resolve, reject })
            schedule(line)
          }),
      }
    },
  }
}

/**
 * Makes one commit of the first parts of several lines. Returns those that are to be written by
 * themselves. Never raises.
 */
async function writeTogether(sql: Database, shares: readonly Share[]): Promise<Set<Line>> {
  try {
    const runs = shares.map(({ line, count }) => toRun(line, count))
    const limit = { name: 'The database', timeoutMs: COMMIT_MS }
    const states = await deadline(limit, () => recordTogether(sql, runs))
    const passed = shares.filter((share, index) => !settle(share, states[index]))
    return new Set(passed.map(({ line }) => line))
  } catch (thrown) {
    const lines = shares.map(({ line }) => line)
    if (isRefused(thrown)) return new Set(lines)
    // Not the error itself: the time limit of a commit is not that of the run.
    const reason = new Error(`Progress could not be stored: ${toError(thrown).message}`)
    for (const line of lines) giveUpOld(line, reason)
    await sleep(RETRY_MS)
    return new Set()
  }
}

function toRun({ lease, parts }: Line, count: number): RunEntries {
  const given = parts.slice(0, count).map(({ entries }) => entries)
  return { lease, entries: joinEntries(given) }
}

/** Returns false when the parts are still to be written. */
function settle({ line, count }: Share, written: Written | undefined): boolean {
  if (!written || written.state === 'passed') return false
  resolveParts(line, count, written)
  return true
}

/** Writes what waits of one run in commits of its own. Never raises. */
async function writeAlone(sql: Database, line: Line): Promise<void> {
  line.isHeld = true
  while (line.parts[0]) await writeParts(sql, line, line.parts[0])
  line.isHeld = false
}

async function writeParts(sql: Database, line: Line, first: Part): Promise<void> {
  const { signal, giveUpAt } = first
  const count = line.isRefused ? 1 : line.parts.length
  const patience = { forMs: giveUpAt - performance.now(), signal }
  try {
    signal.throwIfAborted()
    const run = toRun(line, count)
    const written = await retryStatement(() => recordEncoded(sql, run), patience)
    resolveParts(line, count, written)
  } catch (thrown) {
    if (isRefused(thrown)) line.isRefused = true
    // Which of them is refused shows one by one.
    if (!isRefused(thrown) || count === 1) line.parts.shift()?.reject(thrown)
  }
}

/** Takes what the next commit has room for; the other lines stay in the set. */
function takeShares(waiting: Set<Line>): Taken {
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
function giveUpOld({ parts }: Line, reason: unknown): void {
  while (parts[0] && performance.now() >= parts[0].giveUpAt) parts.shift()?.reject(reason)
}

/** Takes the first parts off a line, written together: the first one hears of warnings. */
function resolveParts({ parts }: Line, count: number, written: Written): void {
  const [first, ...others] = parts.splice(0, count)
  first?.resolve(written)
  const { state, booking } = written
  const rest = booking ? { state, booking: { ...booking, warnings: [] } } : written
  for (const { resolve } of others) resolve(rest)
}
