import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_SECONDS } from '../platform/run-queue.ts'
import type { Lease } from '../platform/run-queue.ts'
import { encodeEntries, joinEntries, recordEncoded, recordTogether } from '../platform/run-steps.ts'
import type { JournalEntries, WriteState } from '../platform/run-steps.ts'
import { deadline } from '../shared/deadline.ts'
import type { Database } from '../shared/postgres/database.ts'
import { giveUpOld, takeShares } from './progress-lines.ts'
import type { Line, Part, Share } from './progress-lines.ts'
import { isRefused, retryStatement } from './retry-statement.ts'

const RETRY_MS = 500
/** The server ends a statement earlier; a connection may be cut off without a word. */
const COMMIT_MS = 35_000

/** Commits what the runs of a worker report. */
export interface ProgressWriter {
  /** Begins to write for an attempt at a run. */
  open(lease: Lease): RunWriter
}

/** Commits what one attempt reports, in its order. */
export interface RunWriter {
  /**
   * Resolves once the entries are committed: true, or false when the run is no longer this
   * worker's. Raises the database's refusal, its last failure when it stays unavailable for as long
   * as the lease, and the signal's reason. The signal is the same at each call.
   */
  write(entries: JournalEntries, signal: AbortSignal): Promise<boolean>
}

/**
 * Commits what all runs of a worker report together, one commit at a time: what is reported
 * meanwhile is the next one. There is no timer, so commits grow only while the database is busy.
 * A run that somebody else is changing, and one of which the database refuses something, is
 * written by itself, so that it delays and fails no other one. Each run bounds what it has waiting.
 */
export function createProgressWriter(sql: Database): ProgressWriter {
  const waiting = new Set<Line>()
  let isWriting = false

  async function writeAll(): Promise<void> {
    for (let shares = takeShares(waiting); shares.length > 0; shares = takeShares(waiting)) {
      for (const line of await writeTogether(sql, shares)) {
        waiting.delete(line)
        void writeAlone(sql, line)
      }
    }
    isWriting = false
  }

  function schedule(line: Line): void {
    if (line.isAlone) return
    if (line.isRefused) return void writeAlone(sql, line)
    waiting.add(line)
    // What is reported in one turn of the event loop shares a commit.
    if (!isWriting) setImmediate(() => void writeAll())
    isWriting = true
  }

  return {
    open(lease) {
      const line: Line = { lease, parts: [], isAlone: false, isRefused: false }
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

/** Makes one commit of the first parts of several lines. Returns those to be written alone. */
async function writeTogether(sql: Database, shares: readonly Share[]): Promise<readonly Line[]> {
  const runs = shares.map(({ line: { lease, parts }, count }) => ({
    lease,
    entries: joinEntries(parts.slice(0, count).map(({ entries }) => entries)),
  }))
  try {
    const limit = { name: 'The database', timeoutMs: COMMIT_MS }
    const states = await deadline(limit, () => recordTogether(sql, runs))
    const locked = shares.filter((share, index) => !settle(share, states[index]))
    return locked.map(({ line }) => line)
  } catch (thrown) {
    if (isRefused(thrown)) return shares.map(({ line }) => line)
    for (const { line } of shares) giveUpOld(line, thrown)
    await sleep(RETRY_MS)
    return []
  }
}

/** Returns false when the parts are still to be written. */
function settle({ line, count }: Share, state: WriteState | undefined): boolean {
  if (state === 'locked') return false
  for (const { resolve } of line.parts.splice(0, count)) resolve(state === 'written')
  return true
}

/** Writes what waits of one run, each part in a commit of its own. Never raises. */
async function writeAlone(sql: Database, line: Line): Promise<void> {
  line.isAlone = true
  for (let part = line.parts[0]; part; part = line.parts[0]) {
    await writePart(sql, line, part)
    line.parts.shift()
  }
  line.isAlone = false
}

async function writePart(sql: Database, line: Line, part: Part): Promise<void> {
  const { entries, signal, giveUpAt } = part
  const patience = { forMs: giveUpAt - performance.now(), signal }
  const run = { lease: line.lease, entries }
  try {
    signal.throwIfAborted()
    part.resolve(await retryStatement(() => recordEncoded(sql, run), patience))
  } catch (thrown) {
    line.isRefused ||= isRefused(thrown)
    part.reject(thrown)
  }
}
