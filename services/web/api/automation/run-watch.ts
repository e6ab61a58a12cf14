import {
  ANNOUNCED_MS,
  announceRuns,
  forgetFollowedRuns,
  RUN_CHANGED,
} from '../../../platform/runs/followed-runs.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { createBell } from '../../../shared/bell.ts'
import type { Bell } from '../../../shared/bell.ts'
import { toError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { listen } from '../../../shared/postgres/listen.ts'
import { readPage, shareReads } from './event-page.ts'
import type { SentPage } from './event-page.ts'

/** Calls that follow runs at a time: all of them, and those with one token. */
const FOLLOWERS_MAX = 2000
const FOLLOWERS_OF_CALLER_MAX = 50
/** For a connection to the database that broke without anybody noticing. */
const LOOK_ANYWAY_MS = 60_000
/** For a run whose changes cannot be announced. */
const UNHEARD_MS = 1000

/** What a follower waits for: any event, or a change of the run's status. */
export type RunChange = 'event' | 'status'

/** A call that follows a run. */
export interface Follower {
  /**
   * Resolves at the next change since the last wait, after the time, or at an abort; and once
   * changes are announced, because there may have been some before.
   */
  changed(timeoutMs: number, signal: AbortSignal): Promise<void>
  /** Reads the events after a number, once for all who follow the run from there. */
  read(after: number): Promise<SentPage>
  /** The process stops: there will be no more changes. */
  isStopping(): boolean
  /** Has to be called in the end. */
  leave(): void
}

/** The run to follow, and who asks. */
interface FollowRequest {
  readonly runId: string
  /** The same for all calls that count together. */
  readonly caller: string
  /** `event` hears of both. */
  readonly change: RunChange
}

/** The limit that keeps a call from following a run. */
type FollowRefusal = 'too_many_of_caller' | 'too_many'

/** Wakes those who follow runs. */
export interface RunWatch {
  /** Returns the limit instead when too many follow runs already. */
  follow(request: FollowRequest): Follower | FollowRefusal
}

interface Waiting {
  readonly change: RunChange
  readonly bell: Bell
}

/** A run that calls of this process follow. */
interface Followed {
  readonly waiting: Set<Waiting>
  /** Whether the database announces its changes; it is asked to with the first wait. */
  announced: 'no' | 'soon' | 'yes'
  readonly read: (after: number) => Promise<SentPage>
}

const toFollowed = (sql: Database, runId: string): Followed => ({
  waiting: new Set(),
  announced: 'no',
  read: shareReads((after) => readPage(sql, runId, after)),
})

const ring = ({ waiting }: Followed): void => waiting.forEach(({ bell }) => bell.ring())

interface WatchDeps {
  readonly sql: Database
  readonly log: Log
  /** Aborts when the process stops. */
  readonly stopping?: AbortSignal | undefined
}

/**
 * Creates a watch over all runs: one connection of the process listens to the database, from the
 * first follower on.
 */
export function createRunWatch({ sql, log, stopping }: WatchDeps): RunWatch {
  const followed = new Map<string, Followed>()
  const count = createCount()
  const announcer = createAnnouncer({ sql, log }, followed)
  let isListening = false
  const isStopping = (): boolean => stopping?.aborted === true

  function hear(payload: string): void {
    const [runId = '', change] = payload.split(' ')
    for (const each of followed.get(runId)?.waiting ?? []) {
      if (change === 'status' || each.change === 'event') each.bell.ring()
    }
  }

  function beginToListen(): void {
    if (isListening || isStopping()) return
    isListening = true
    const onOpen = (): void => announcer.reopen()
    const stop = listen(sql, { channel: RUN_CHANGED, hear, onOpen, log })
    const timer = setInterval(() => void announcer.again(), ANNOUNCED_MS / 3).unref()
    stopping?.addEventListener('abort', () => {
      clearInterval(timer)
      stop()
      for (const run of followed.values()) ring(run)
    })
  }

  return {
    follow({ runId, caller, change }) {
      const refused = count.refusal(caller)
      if (refused) return refused
      beginToListen()
      const entry = { change, bell: createBell() }
      const run = followed.get(runId) ?? toFollowed(sql, runId)
      run.waiting.add(entry)
      followed.set(runId, run)
      count.add(caller)
      return {
        isStopping,
        read: run.read,
        async changed(timeoutMs, signal) {
          if (isStopping()) return
          if (run.announced === 'no') void announcer.begin(runId, run)
          const longestMs = run.announced === 'yes' ? LOOK_ANYWAY_MS : UNHEARD_MS
          await entry.bell.wait(Math.min(timeoutMs, longestMs), signal)
        },
        leave() {
          if (!run.waiting.delete(entry)) return
          count.remove(caller)
          if (run.waiting.size === 0) followed.delete(runId)
        },
      }
    },
  }
}

/** Has the database announce the changes of followed runs. What it returns never raises. */
function createAnnouncer(
  { sql, log }: Pick<WatchDeps, 'sql' | 'log'>,
  followed: ReadonlyMap<string, Followed>,
) {
  /** Changes may have gone unheard since the last announcement. */
  let isDoubtful = false

  const warn = (thrown: unknown): void =>
    log.warn({ reason: toError(thrown).message }, 'changes of runs are not announced; polling')

  async function again(): Promise<void> {
    const runs = new Map([...followed].filter(([, { announced }]) => announced === 'yes'))
    try {
      if (runs.size > 0) await announceRuns(sql, [...runs.keys()])
      await forgetFollowedRuns(sql)
      if (isDoubtful) for (const run of runs.values()) ring(run)
      isDoubtful = false
    } catch (thrown) {
      isDoubtful = true
      warn(thrown)
    }
  }

  return {
    async begin(runId: string, run: Followed): Promise<void> {
      run.announced = 'soon'
      try {
        await announceRuns(sql, [runId])
        run.announced = 'yes'
        ring(run)
      } catch (thrown) {
        run.announced = 'no'
        warn(thrown)
      }
    },
    again,
    /** The connection that listens was opened again, perhaps after a crash of the server. */
    reopen(): void {
      for (const run of followed.values()) ring(run)
      isDoubtful = true
      void again()
    },
  }
}

/** Counts followers, altogether and by caller. */
function createCount() {
  const perCaller = new Map<string, number>()
  let all = 0
  return {
    refusal(caller: string): FollowRefusal | undefined {
      if (all >= FOLLOWERS_MAX) return 'too_many'
      const own = perCaller.get(caller) ?? 0
      return own >= FOLLOWERS_OF_CALLER_MAX ? 'too_many_of_caller' : undefined
    },
    add(caller: string): void {
      all += 1
      perCaller.set(caller, (perCaller.get(caller) ?? 0) + 1)
    },
    remove(caller: string): void {
      all -= 1
      const left = (perCaller.get(caller) ?? 1) - 1
      if (left > 0) perCaller.set(caller, left)
      else perCaller.delete(caller)
    },
  }
}
