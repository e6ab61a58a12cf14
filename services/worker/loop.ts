import { setMaxListeners } from 'node:events'
import type { LeasedRun } from '../platform/run-queue.ts'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

const GIVE_UP_EVERY_MS = 10_000

/** The queue of a loop, and its bounds. */
export interface LoopDeps {
  readonly take: (limit: number) => Promise<LeasedRun[]>
  /** Ends the runs whose workers were lost too often. */
  readonly giveUp: () => Promise<number>
  readonly run: (run: LeasedRun, signals: LoopSignals) => Promise<void>
  /** Puts back a run that was taken and not begun. */
  readonly putBack: (run: LeasedRun) => Promise<unknown>
  readonly concurrency: number
  /** The longest time between two looks at the queue. */
  readonly pollMs: number
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
  /** Looks at the queue now. */
  readonly wake: () => void
  readonly running: () => number
  /** The time since the last look at the queue ended, successful or not. */
  readonly idleMs: () => number
  /** Takes nothing more; runs that go on after `drainMs` are put back. */
  stop(drainMs: number): Promise<void>
}

/** Takes runs from the queue for as long as there are some and the worker has capacity. */
export function startLoop(deps: LoopDeps): Loop {
  const { concurrency, pollMs, log } = deps
  const running = new Set<Promise<unknown>>()
  const { signals, pause, drain } = createSignals(concurrency)
  const bell = createBell()
  let stopping = false
  let cameRoundAt = performance.now()
  let gaveUpAt = -Infinity

  function begin(run: LeasedRun): void {
    // A run that a look brings after the worker was stopped goes back into the queue.
    const ending = (stopping ? deps.putBack(run) : deps.run(run, signals))
      // Its lease runs out, and another worker takes it over.
      .catch((thrown: unknown) => log.error({ err: toError(thrown) }, 'a run was dropped'))
      .finally(() => {
        running.delete(ending)
        bell.ring()
      })
    running.add(ending)
  }

  async function look(): Promise<void> {
    try {
      if (performance.now() - gaveUpAt > GIVE_UP_EVERY_MS) {
        gaveUpAt = performance.now()
        const lost = await deps.giveUp()
        if (lost > 0) log.error({ runs: lost }, 'runs were given up: their workers were lost')
      }
      const room = stopping ? 0 : concurrency - running.size
      if (room > 0) for (const run of await deps.take(room)) begin(run)
    } catch (thrown) {
      log.warn({ reason: toError(thrown).message }, 'the queue cannot be read; trying again')
    }
  }

  async function goRound(): Promise<void> {
    while (!stopping) {
      await look()
      cameRoundAt = performance.now()
      if (!stopping) await bell.wait(pollMs)
    }
  }

  const ended = goRound()
  return {
    wake: bell.ring,
    running: () => running.size,
    idleMs: () => performance.now() - cameRoundAt,
    async stop(drainMs) {
      stopping = true
      pause.abort(new Error('the worker stops'))
      bell.ring()
      const timer = setTimeout(() => drain.abort(new Error('the worker stops')), drainMs)
      await ended
      await Promise.all(running)
      clearTimeout(timer)
    },
  }
}

function createSignals(concurrency: number) {
  const pause = new AbortController()
  const drain = new AbortController()
  // Each run listens; Node would take more than ten for a leak.
  setMaxListeners(concurrency * 3, pause.signal, drain.signal)
  return { signals: { pause: pause.signal, drain: drain.signal }, pause, drain }
}

/** A bell that ends one wait, also when it rang while nobody waited. */
function createBell() {
  let rang = false
  let hear = (): void => {}
  const ring = (): void => {
    rang = true
    hear()
  }
  return {
    ring,
    async wait(timeoutMs: number): Promise<void> {
      if (!rang) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs)
          hear = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      rang = false
    },
  }
}
