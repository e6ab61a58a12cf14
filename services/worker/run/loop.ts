import { setMaxListeners } from 'node:events'
import { createBell } from '../../shared/bell.ts'
import type { Bell } from '../../shared/bell.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { setTimeout as sleep } from 'node:timers/promises'

const GIVE_UP_EVERY_MS = 10_000
/** The pause after a look that failed. */
const RETRY_MS = 2000
/**
 * The shortest time between the beginnings of two looks: runs that end in it are followed together.
 * A worker that waits for work looks at once.
 */
const PACE_MS = 10
/** Up to so much later a call to work is answered, so that not all workers look at once. */
const JITTER_MS = 2
/** The same for one whom others forestall. */
const JITTER_MAX_MS = 32

/** The queue of a loop, and its bounds. */
export interface LoopDeps<Work> {
  /** Takes work; calls `rest` with the time for which there will be none. */
  readonly take: (limit: number, rest: (ms: number) => void) => Promise<Work[]>
  /** Ends what workers were lost with too often. */
  readonly giveUp?: () => Promise<number>
  readonly run: (work: Work, signals: LoopSignals) => Promise<void>
  /** Puts back what was taken and not begun. */
  readonly putBack: (work: Work) => Promise<unknown>
  readonly concurrency: number
  /** The longest time between two looks at the queue. */
  readonly pollMs: number
  /**
   * The time for which places that become free wait for others, up to a half of all, while there is
   * more work than places: one look fills them all. @default 0
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
  readonly running: () => number
  /** The time since the last look at the queue ended, successful or not. */
  readonly idleMs: () => number
  /** Takes nothing more; runs that go on after `drainMs` are put back. */
  stop(drainMs: number): Promise<void>
}

/** Takes work from a queue for as long as there is some and the worker has capacity. */
export function startLoop<Work>(deps: LoopDeps<Work>): Loop {
  const { concurrency, pollMs, log } = deps
  const running = new Set<Promise<unknown>>()
  const { signals, end } = createSignals(concurrency)
  const bell = createBell()
  const places = watchPlaces(bell, running, deps)
  const giveUp = nowAndThen(deps)
  let stopping = false
  let cameRoundAt = performance.now()

  function begin(work: Work): void {
    // What a look brings after the worker was stopped goes back into the queue.
    const ending = (stopping ? deps.putBack(work) : deps.run(work, signals))
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
      await giveUp()
      const room = stopping ? 0 : concurrency - running.size
      const rest = (ms: number): void => void (sleepMs = Math.min(ms, pollMs))
      const found = room > 0 ? await deps.take(room, rest) : []
      places.looked(found.length, room)
      for (const work of found) begin(work)
    } catch (thrown) {
      sleepMs = Math.min(pollMs, RETRY_MS)
      log.warn({ reason: toError(thrown).message }, 'the queue cannot be read; trying again')
    }
    return sleepMs
  }

  async function goRound(): Promise<void> {
    while (!stopping) {
      const [sleepMs] = await Promise.all([look(), sleep(PACE_MS)])
      cameRoundAt = performance.now()
      if (!stopping) await bell.wait(sleepMs)
    }
  }

  const ended = goRound()
  return {
    wake: places.wake,
    running: () => running.size,
    idleMs: () => performance.now() - cameRoundAt,
    async stop(drainMs) {
      stopping = true
      bell.ring()
      await end(drainMs, () => ended.then(() => Promise.all(running)))
    },
  }
}

/** Returns what gives lost work up, when it was not asked to a moment ago. */
function nowAndThen({ giveUp, log }: Pick<LoopDeps<unknown>, 'giveUp' | 'log'>) {
  let gaveUpAt = -Infinity
  return async (): Promise<void> => {
    if (!giveUp || performance.now() - gaveUpAt <= GIVE_UP_EVERY_MS) return
    gaveUpAt = performance.now()
    const lost = await giveUp()
    if (lost > 0) log.error({ runs: lost }, 'runs were given up: their workers were lost')
  }
}

/** Rings the bell for places that became free, and for work that came. */
function watchPlaces(
  bell: Bell,
  running: ReadonlySet<unknown>,
  { concurrency, gatherMs = 0 }: Pick<LoopDeps<unknown>, 'concurrency' | 'gatherMs'>,
) {
  /** The last look found work for all places. */
  let hasMore = false
  let gathering: NodeJS.Timeout | undefined
  /** Few workers are enough for little work: those that find some when they are called. */
  let jitterMs = JITTER_MS
  let calling: NodeJS.Timeout | undefined
  let isCalled = false
  function ring(): void {
    clearTimeout(gathering)
    gathering = undefined
    bell.ring()
  }
  function answer(): void {
    calling = undefined
    isCalled = true
    ring()
  }
  return {
    looked: (found: number, room: number): void => {
      hasMore = found === room
      if (isCalled) jitterMs = found > 0 ? JITTER_MS : Math.min(2 * jitterMs, JITTER_MAX_MS)
      isCalled = false
    },
    freed: (): void => {
      if (!hasMore || running.size <= concurrency / 2) ring()
      else gathering ??= setTimeout(ring, gatherMs)
    },
    wake: (): void => {
      if (running.size < concurrency) calling ??= setTimeout(answer, Math.random() * jitterMs)
      else hasMore = true
    },
  }
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
