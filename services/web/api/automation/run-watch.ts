import type { Database } from '../../../shared/postgres/database.ts'
import { createBell } from '../../../shared/bell.ts'
import type { Bell } from '../../../shared/bell.ts'
import type { Log } from '../../../shared/log.ts'
import { listen } from '../../../shared/postgres/listen.ts'

/** Calls that follow runs at a time: all of them, and those with one token. */
const FOLLOWERS_MAX = 500
const FOLLOWERS_OF_CALLER_MAX = 50
/** For a connection to the database that broke without anybody noticing. */
const LOOK_ANYWAY_MS = 60_000

/** What a follower waits for: any event, or a change of the run's status. */
export type RunChange = 'event' | 'status'

/** A call that follows a run. */
export interface Follower {
  /** Resolves at the next change since the last wait, after the time, or at an abort. */
  changed(timeoutMs: number, signal: AbortSignal): Promise<void>
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
  const waiting = new Map<string, Set<Waiting>>()
  const count = createCount()
  let isListening = false
  const isStopping = (): boolean => stopping?.aborted === true

  function wakeAll(): void {
    for (const ofRun of waiting.values()) for (const { bell } of ofRun) bell.ring()
  }

  function hear(payload: string): void {
    const [runId = '', change] = payload.split(' ')
    for (const each of waiting.get(runId) ?? []) {
      if (change === 'status' || each.change === 'event') each.bell.ring()
    }
  }

  function beginToListen(): void {
    if (isListening || isStopping()) return
    isListening = true
    const stop = listen(sql, { channel: 'run_changed', hear, onOpen: wakeAll, log })
    stopping?.addEventListener('abort', () => {
      stop()
      wakeAll()
    })
  }

  return {
    follow({ runId, caller, change }) {
      const refused = count.refusal(caller)
      if (refused) return refused
      beginToListen()
      const entry = { change, bell: createBell() }
      const ofRun = waiting.get(runId) ?? new Set()
      waiting.set(runId, ofRun.add(entry))
      count.add(caller)
      return {
        isStopping,
        async changed(timeoutMs, signal) {
          if (!isStopping()) await entry.bell.wait(Math.min(timeoutMs, LOOK_ANYWAY_MS), signal)
        },
        leave() {
          if (!ofRun.delete(entry)) return
          count.remove(caller)
          if (ofRun.size === 0) waiting.delete(runId)
        },
      }
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
