import type * as v from 'valibot'
import { applyHolds, hasDueHolds } from '../platform/erasures/legal-holds.ts'
import { createNeedleSeals } from '../platform/erasures/needle.ts'
import { hasOpenErasures, performErasure } from '../platform/erasures/perform-erasure.ts'
import { deadline } from '../shared/deadline.ts'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'
import { openTraceHolds } from '../shared/trace-holds.ts'
import type { workerEnv } from './env.ts'
import { openPersonTraces } from './person-traces.ts'
import type { Lane } from './start-chores.ts'

const TURN_MS = 30_000

interface Erasures {
  readonly config: v.InferOutput<typeof workerEnv>
  readonly log: Log
  readonly sql: Database
}

/**
 * Looks for what is to be erased, erases it, and puts traces under holds, a part at a time, once it
 * is woken: chores see when something is due.
 */
export function startErasures({ config, log, sql }: Erasures) {
  const { COLLECTOR_URL: collectorUrl, COLLECTOR_JWT_SECRET: secret } = config
  const seals = createNeedleSeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  const collector =
    collectorUrl && secret ? ({ collectorUrl, secret, service: 'worker' } as const) : undefined
  const traces = collector && openPersonTraces(collector)
  const holds = collector && openTraceHolds(collector)
  const stopping = new AbortController()
  const open = new Map<string, Promise<void>>()

  async function turnAll(name: string, turn: () => Promise<number>): Promise<void> {
    const { signal } = stopping
    try {
      while (!signal.aborted) {
        if ((await deadline({ name, timeoutMs: TURN_MS, signal }, turn)) === 0) return
      }
    } catch (thrown) {
      const reason = toError(thrown).message
      if (!signal.aborted) log.warn({ reason }, `${name} failed; trying again`)
    }
  }

  /** Nothing is begun twice. */
  const lane = (name: string, isDue: Lane['isDue'], turn: () => Promise<number>): Lane => ({
    name,
    isDue,
    wake() {
      if (open.has(name) || stopping.signal.aborted) return
      open.set(
        name,
        turnAll(name, turn).finally(() => void open.delete(name)),
      )
    },
  })

  const lanes = [lane('erasures', hasOpenErasures, () => performErasure(sql, { seals, traces }))]
  if (traces && holds)
    lanes.push(lane('legal holds', hasDueHolds, () => applyHolds(sql, { holds, traces })))
  return {
    lanes,
    async stop(): Promise<void> {
      stopping.abort()
      await Promise.all(open.values())
    },
  }
}
