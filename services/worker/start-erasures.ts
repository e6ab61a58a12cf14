import * as v from 'valibot'
import { applyHolds, hasDueHolds } from '../platform/erasures/legal-holds.ts'
import { createNeedleSeals, bytesPatternsOf, patternsOf } from '../platform/erasures/needle.ts'
import type { Needle } from '../platform/erasures/needle.ts'
import { hasOpenErasures, performErasure } from '../platform/erasures/perform-erasure.ts'
import type { PersonTraces } from '../platform/erasures/perform-erasure.ts'
import { deadline } from '../shared/deadline.ts'
import { toError, AppError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Database } from '../shared/postgres/database.ts'
import { openTraceHolds } from '../shared/trace-holds.ts'
import { callCollector, readText } from '../shared/collector-call.ts'
import type { CollectorPlace } from '../shared/collector-call.ts'
import type { CollectorScope } from '../shared/collector-token.ts'
import type { workerEnv } from './env.ts'
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

/** Longer than a part of the spans of an organization takes, and within the turn of a chore. */
const CALL_MS = 25_000

const mentions = v.object({ trace_ids: v.array(v.string()), next: v.nullable(v.string()) })

/**
 * Returns what finds and deletes the traces of a person in the trace collector. All raise
 * `unavailable`, `timeout` and `bad_gateway`.
 */
export function openPersonTraces(collector: CollectorPlace): PersonTraces {
  async function call(
    organizationId: number,
    scope: CollectorScope,
    asked: { readonly path: string; readonly method: 'POST' | 'DELETE'; readonly body?: string },
  ): Promise<string> {
    const limit = { name: 'The trace collector', timeoutMs: CALL_MS }
    const claims = { scopes: [scope], organization: String(organizationId) }
    return deadline(limit, async (signal) =>
      readText(await callCollector(collector, { ...asked, claims, missing: NOT_THERE }, signal)),
    )
  }
  return {
    async find(organizationId, needle, after) {
      const body = JSON.stringify({ ...bodyOf(needle), ...(after === null ? {} : { after }) })
      const asked = { path: '/mentions', method: 'POST', body } as const
      const answer = v.safeParse(
        v.pipe(v.string(), v.parseJson(), mentions),
        await call(organizationId, 'traces:read', asked),
      )
      if (answer.success) return { traceIds: answer.output.trace_ids, next: answer.output.next }
      throw new AppError('bad_gateway', 'The trace collector answered with no list of traces.')
    },
    async erase(organizationId, traceId) {
      const asked = { path: `/traces/${traceId}`, method: 'DELETE' } as const
      try {
        await call(organizationId, 'traces:delete', asked)
        return true
      } catch (thrown) {
        const code = thrown instanceof AppError ? thrown.code : undefined
        // It has expired, or was deleted before.
        if (code === 'not_found') return true
        if (code === 'conflict') return false
        throw thrown
      }
    },
    async forget(organizationId, needle) {
      const body = JSON.stringify(bodyOf(needle))
      await call(organizationId, 'traces:delete', { path: '/mentions', method: 'DELETE', body })
    },
  }
}

const NOT_THERE = 'The trace collector has no such trace, or is older than the worker.'

function bodyOf({ kind, value }: Needle): object {
  if (kind === 'user') return { user: value }
  if (kind === 'text')
    return { patterns: patternsOf(value), bytes_patterns: bytesPatternsOf(value) }
  const end = value.indexOf('=')
  return { attribute: { key: value.slice(0, end), value: value.slice(end + 1) } }
}
