import { setMaxListeners } from 'node:events'
import { createBell } from '../../shared/bell.ts'
import type { Bell } from '../../shared/bell.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { setTimeout as sleep } from 'node:timers/promises'

/** For queues of which `start-chores.ts` knows when they have something. */
const QUIET_MS = 600_000
/** The pause after a look that failed. */
const RETRY_MS = 2000
/**
 * The shortest time between the beginnings of two looks: runs that end in it are followed together.
 * A worker that waits for work looks at once.
 */
const PACE_MS = 10
/** Up to so much later a call to all is answered, so that not all look at once. */
const JITTER_MS = 2
/** So much later a second worker looks for the same work: the first has it then, if it lives. */
const SECOND_MS = 20
/** Places are gathered for so many times as long as the last look took. */
const GATHER_LOOKS = 8
/** From so many times the shortest time on, all places are waited for. */
const GATHER_ALL_FROM = 4

/** The queue of a loop, and its bounds. */
export interface LoopDeps<Work> {
  /** Takes work; calls `rest` with the time for which there will be none. */
  readonly take: (limit: number, rest: (ms: number) => void) => Promise<Work[]>
  /** Calls other workers instead of this one, until a look finds nothing again; one at a time. */
  readonly passOn?: () => Promise<unknown>
  readonly run: (work: Work, signals: LoopSignals) => Promise<void>
  /** Puts back what was taken and not begun. */
  readonly putBack: (work: Work) => Promise<unknown>
  readonly concurrency: number
  /** The longest time between two looks at the queue. @default long: a chore looks instead */
  readonly pollMs?: number | undefined
  /**
   * The time for which places that become free wait for others, while there is more work than
   * places: one look fills them all. They wait for a half of all; where looks are slow for up to
   * eight times as long, and for all.
   * @default 0
   */
  readonly gatherMs?: number
  readonly log: Log
}

/** How a loop tells its runs that it stops. */
export interface LoopSignals {
  /** At once: runs that can are handed over after the calls in flight. */
  readonly pause: AbortSignal
  /** When the time to drain is over: the others are put back. */
  readonly drain: AbortSignal
}

/** A running loop. */
export interface Loop {
  /** Looks at the queue, a little later than others. */
  readonly wake: () => void
  /** Looks for work that one other worker knows of at most: without room, it passes the call on. */
  readonly call: (which: string) => void
  readonly running: () => number
  /** The time since the last look at the queue ended, successful or not. */
  readonly idleMs: () => number
  /** Takes nothing more; runs that go on after `drainMs` are put back. */
  stop(drainMs: number): Promise<void>
}

/** Takes work from a queue for as long as there is some and the worker has capacity. */
export function startLoop<Work>(deps: LoopDeps<Work>): Loop {
  const { concurrency, pollMs = QUIET_MS, log } = deps
  const running = new Set<Promise<unknown>>()
  const { signals, end } = createSignals(concurrency)
  const bell = createBell()
  const places = watchPlaces(bell, running, deps)
  const { isStopping } = places
  let cameRoundAt = performance.now()

  function begin(work: Work): void {
    // What a look brings after the worker was stopped goes back into the queue.
    const ending = (isStopping() ? deps.putBack(work) : deps.run(work, signals))
      // Its lease runs out, and another worker takes it over.
      .catch((thrown: unknown) => log.error({ err: toError(thrown) }, 'work was dropped'))
      .finally(() => {
        running.delete(ending)
        places.freed()
      })
    running.add(ending)
  }

  /** Looks at the queue, and returns when to do so again at the latest. */
  async function look(): Promise<number> {
    let sleepMs = pollMs
    try {
      const limit = places.room()
      const rest = (ms: number): void => void (sleepMs = Math.min(ms, pollMs))
      const looked = places.look()
      const found = limit > 0 ? await deps.take(limit, rest) : []
      for (const work of found) begin(work)
      looked(found.length === limit)
    } catch (thrown) {
      sleepMs = Math.min(pollMs, RETRY_MS)
      log.warn({ reason: toError(thrown).message }, 'the queue cannot be read; trying again')
    }
    return sleepMs
  }

  async function goRound(): Promise<void> {
    while (!isStopping()) {
      const [sleepMs] = await Promise.all([look(), sleep(PACE_MS)])
      cameRoundAt = performance.now()
      if (!isStopping()) await bell.wait(sleepMs)
    }
  }

  const ended = goRound()
  return {
    wake: places.wake,
    call: places.call,
    running: () => running.size,
    idleMs: () => performance.now() - cameRoundAt,
    async stop(drainMs) {
      places.stop()
      await end(drainMs, () => ended.then(() => Promise.all([places.passOn(), ...running])))
    },
  }
}

/** Rings the bell for places that became free, and for work that came. */
function watchPlaces<Work>(bell: Bell, running: ReadonlySet<unknown>, deps: LoopDeps<Work>) {
  const { concurrency, gatherMs = 0 } = deps
  const passOn = openPassing(deps)
  /** The last look found work for all places. */
  let hasMore = false
  let lookMs = 0
  let gathering: NodeJS.Timeout | undefined
  let answering: NodeJS.Timeout | undefined
  /** The next look is for a call that no other worker may have heard. */
  let isCalled = false
  let stopping = false
  const room = (): number => (stopping ? 0 : concurrency - running.size)
  function ring(): void {
    clearTimeout(gathering)
    gathering = undefined
    bell.ring()
  }
  function answer(): void {
    answering = undefined
    ring()
  }
  function wake(afterMs = Math.random() * JITTER_MS): void {
    if (room() <= 0) hasMore = true
    // Places that are gathered are soon filled, since more waits than is called for.
    else if (!gathering) answering ??= setTimeout(answer, afterMs)
  }
  return {
    room,
    isStopping: () => stopping,
    stop: (): void => {
      stopping = true
      ring()
    },
    /** Begins a look; what it returns ends it, with whether all places were filled. */
    look: () => {
      const wasCalled = isCalled
      isCalled = false
      const began = performance.now()
      return (isFull: boolean): void => {
        hasMore = isFull
        lookMs = performance.now() - began
        if (wasCalled && isFull) void passOn()
      }
    },
    freed: (): void => {
      const { forMs, isForAll } = gatheringAfter(lookMs, gatherMs)
      if (!hasMore || running.size <= (isForAll ? 0 : concurrency / 2)) ring()
      else gathering ??= setTimeout(ring, forMs)
    },
    wake: () => wake(),
    call: (which: string): void => {
      isCalled = room() > 0
      if (!isCalled) void passOn()
      if (isCalled && which === '' && !gathering) ring()
      else wake(SECOND_MS)
    },
    passOn,
  }
}

/**
 * Passes calls on: those that come while one is passed on are passed on together, after it. Never
 * raises: who is not called looks by the clock.
 */
function openPassing<Work>({ passOn, log }: LoopDeps<Work>): () => Promise<void> {
  let isCalled = false
  let passing: Promise<void> | undefined
  async function pass(): Promise<void> {
    while (isCalled) {
      isCalled = false
      await passOn?.().catch((thrown: unknown) => {
        const reason = toError(thrown).message
        log.warn({ reason }, 'a call to the queue could not be passed on')
      })
    }
    passing = undefined
  }
  return () => {
    isCalled = true
    return (passing ??= pass())
  }
}

/**
 * The busier the database and the processors are, the slower is a look, and the more places it is
 * to fill. A worker that has them to itself begins runs while others end.
 */
export function gatheringAfter(lookMs: number, gatherMs: number) {
  const forMs = Math.max(gatherMs, Math.min(lookMs, gatherMs) * GATHER_LOOKS)
  return { forMs, isForAll: forMs > gatherMs * GATHER_ALL_FROM }
}

function createSignals(concurrency: number) {
  const pause = new AbortController()
  const drain = new AbortController()
  // Each run listens; Node would take more than ten for a leak.
  setMaxListeners(concurrency * 3, pause.signal, drain.signal)
  return {
    signals: { pause: pause.signal, drain: drain.signal },
    /** Tells all runs to pause, and those that are there after the time to let go. */
    end: async (drainMs: number, ended: () => Promise<unknown>): Promise<void> => {
      pause.abort(new Error('the worker stops'))
      const timer = setTimeout(() => drain.abort(new Error('the worker stops')), drainMs)
      await ended()
      clearTimeout(timer)
    },
  }
}
