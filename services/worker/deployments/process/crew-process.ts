import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../../../shared/backoff.ts'
import { deadline } from '../../../shared/deadline.ts'
import { toError } from '../../../shared/errors.ts'
import { recordProcess } from './orphans.ts'
import { describeEnd, startProgram } from './run-program.ts'
import type { Program, ProgramEnd, RunningProgram } from './run-program.ts'

const RESTART = { firstMs: 1000, maxMs: 60_000 }
/** After so long without an end, the next restart comes as soon as the first one did. */
const STEADY_MS = 10 * 60_000
const HEALTH_MS = 5000
const HEALTH_EVERY_MS = 100

/** A crew to keep running. */
export interface CrewProgram extends Program {
  /** Where it listens. */
  readonly url: string
  /** A file that tells which process it is. */
  readonly record: string
  /** Ends what it has started and left behind, which may not have heard of its end. */
  readonly endRest: () => Promise<void>
  /** Deletes what it had, once it has ended. */
  readonly release: () => Promise<void>
}

/** How a start ended. */
export type Start =
  | { readonly outcome: 'healthy' }
  | { readonly outcome: 'ended'; readonly end: ProgramEnd; readonly lastLines: string }
  | { readonly outcome: 'late'; readonly reason: string; readonly lastLines: string }

/** A crew's process, which is started again when it ends by itself. */
export interface CrewProcess {
  readonly url: string
  readonly startedAt: Date
  /** Waits until it is healthy for the first time. Raises the reason of the signal. */
  waitUntilHealthy(timeoutMs: number, signal: AbortSignal): Promise<Start>
  /** Starts it again whenever it ends from now on. */
  keep(): void
  /** Returns why it is not healthy; undefined when it is. */
  findTrouble(signal?: AbortSignal): Promise<string | undefined>
  /** Asks it to end, and ends it when the time is over. May be called again with less time. */
  end(graceMs: number): Promise<void>
}

/** Starts the process of a crew. */
export function startCrewProcess(program: CrewProgram): CrewProcess {
  const { url, record, onLines } = program
  const stopping = new AbortController()
  const startedAt = new Date()
  let running = begin()

  function begin(): RunningProgram {
    const started = startProgram(program)
    // Without a record a killed platform leaves it behind; that is no reason not to run it.
    if (started.pid !== undefined) recordProcess(record, started.pid).catch(() => {})
    return started
  }

  async function restart(): Promise<void> {
    for (let ends = 1; ; ends += 1) {
      const startedMs = performance.now()
      const end = await running.ended
      if (stopping.signal.aborted) return
      if (performance.now() - startedMs > STEADY_MS) ends = 1
      const waitMs = backoffMs(ends, RESTART)
      onLines(`It ${describeEnd(end)}, and starts again in ${Math.ceil(waitMs / 1000)} s.\n`)
      await sleep(waitMs, undefined, { signal: stopping.signal })
      await program.endRest()
      if (stopping.signal.aborted) return
      running = begin()
    }
  }

  return {
    url,
    startedAt,
    async waitUntilHealthy(timeoutMs, signal) {
      const late = AbortSignal.timeout(timeoutMs)
      const end = running.ended
      let hasEnded = false
      void end.then(() => (hasEnded = true))
      let reason: string | undefined = ''
      while (!hasEnded && !late.aborted) {
        signal.throwIfAborted()
        reason = await findTrouble(url, signal)
        if (reason === undefined) return { outcome: 'healthy' }
        await Promise.race([end, sleep(HEALTH_EVERY_MS, undefined, { signal }).catch(() => {})])
      }
      const lastLines = running.lastLines()
      return hasEnded
        ? { outcome: 'ended', end: await end, lastLines }
        : { outcome: 'late', reason: reason ?? '', lastLines }
    },
    // Only the stop itself raises here.
    keep: () => void restart().catch(() => {}),
    findTrouble: (signal) => findTrouble(url, signal),
    async end(graceMs) {
      stopping.abort()
      await running.end(graceMs)
      await program.endRest()
      await program.release()
    },
  }
}

async function findTrouble(url: string, signal?: AbortSignal): Promise<string | undefined> {
  try {
    const limit = { name: 'It', timeoutMs: HEALTH_MS, ...(signal ? { signal } : {}) }
    return await deadline(limit, async (stop) => {
      const response = await fetch(`${url}/health`, { redirect: 'manual', signal: stop })
      await response.body?.cancel()
      return response.ok ? undefined : `It answers /health with HTTP ${response.status}.`
    })
  } catch (thrown) {
    signal?.throwIfAborted()
    const { message, cause } = toError(thrown)
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    return message === 'fetch failed' ? `Nothing answers on its port${code}.` : message
  }
}
