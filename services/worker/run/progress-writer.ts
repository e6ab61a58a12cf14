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
  /** The last commit passed it. */
  isPassed: boolean
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
/**
 * Where more waits already when a commit ends, or it was slow, the next one begins as much later as
 * that one took: the more the database has to do, the more runs share a commit.
 */
const REST_MS_MAX = 20
const QUICK_MS = 10
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

/** The connections of a writer, and when it uses them. */
interface WriterOptions {
  /**
   * For the commits of many runs, and nothing else: they wait for no other statement. Each after
   * the first is used while a commit is slow on those before it.
   */
  readonly together: readonly Database[]
  /** For what a run has to write by itself. */
  readonly alone: Database
  /** The time after which a commit counts as slow. @default 30 */
  readonly slowMs?: number
}

/**
 * Commits what the runs of a worker report together, in one commit at a time: what is reported
 * meanwhile is in the next one, so commits grow while the database is busy. While a commit is slow
 * those of other runs are made on the next connection. Some runs are written by themselves, so that
 * they delay and fail no others: one that reports much at a time, that somebody else is changing,
 * or of which the database refuses something. What waits is bounded for each run, by whoever reads
 * what it reports.
 */
export function createProgressWriter(options: WriterOptions): ProgressWriter {
  const { alone } = options
  const waiting = new Set<Line>()
  const connections = takeTurns(options, begin)
  let restUntil = 0

  async function writeAll(sql: Database): Promise<void> {
    const lateMs = restUntil - performance.now()
    if (lateMs > 0) await sleep(lateMs)
    while (waiting.size > 0) {
      const { shares, large } = takeShares(waiting)
      large.forEach(startAlone)
      const tookMs = await connections.time(sql, async () =>
        (await writeShares(sql, shares, waiting)).forEach(startAlone),
      )
      const restMs = Math.min(tookMs, REST_MS_MAX)
      if (tookMs > QUICK_MS) restUntil = performance.now() + restMs
      if (waiting.size > 0) await sleep(restMs)
    }
    connections.release(sql)
  }

  function begin(): void {
    const sql = waiting.size > 0 ? connections.take() : undefined
    // What is reported in one turn of the event loop shares a commit.
    if (sql) setImmediate(() => void writeAll(sql))
  }

  function startAlone(line: Line): void {
    waiting.delete(line)
    void writeAlone(alone, line)
  }

  function schedule(line: Line): void {
    if (line.isHeld) return
    if (line.isRefused) return startAlone(line)
    waiting.add(line)
    begin()
  }

  return {
    open(lease) {
      const line: Line = { lease, parts: [], isHeld: false, isPassed: false, isRefused: false }
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

/** Gives out one connection at a time, and the next one while the commits on those are slow. */
function takeTurns({ together, slowMs = 30 }: WriterOptions, onSlow: () => void) {
  const taken = new Set<Database>()
  const slow = new Set<Database>()
  return {
    take(): Database | undefined {
      const sql = taken.size > slow.size ? undefined : together.find((each) => !taken.has(each))
      if (sql) taken.add(sql)
      return sql
    },
    release: (sql: Database): void => void taken.delete(sql),
    /** Returns the milliseconds that a commit took. */
    async time(sql: Database, commit: () => Promise<void>): Promise<number> {
      const began = performance.now()
      const timer = setTimeout(() => {
        slow.add(sql)
        onSlow()
      }, slowMs)
      await commit()
      clearTimeout(timer)
      slow.delete(sql)
      return performance.now() - began
    },
  }
}

/** Holds lines while they are written, and lets those wait of which more is to be written. */
async function writeShares(sql: Database, shares: readonly Share[], waiting: Set<Line>) {
  if (shares.length === 0) return new Set<Line>()
  for (const { line } of shares) line.isHeld = true
  const apart = await writeTogether(sql, shares)
  for (const { line } of shares) {
    line.isHeld = false
    if (!apart.has(line) && line.parts.length > 0) waiting.add(line)
  }
  return apart
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
    const passed = new Set(shares.filter((share, index) => !settle(share, states[index])))
    // A take of another worker that came too late for a run locks it until it commits.
    const passedTwice = shares.filter((share) => passed.has(share) && share.line.isPassed)
    for (const share of shares) share.line.isPassed = passed.has(share) && !share.line.isPassed
    return new Set(passedTwice.map(({ line }) => line))
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
