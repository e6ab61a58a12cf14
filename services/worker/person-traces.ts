import * as v from 'valibot'
import { bytesPatternsOf, patternsOf } from '../platform/erasures/needle.ts'
import type { Needle } from '../platform/erasures/needle.ts'
import type { PersonTraces } from '../platform/erasures/perform-erasure.ts'
import { callCollector, readText } from '../shared/collector-call.ts'
import type { CollectorPlace } from '../shared/collector-call.ts'
import type { CollectorScope } from '../shared/collector-token.ts'
import { deadline } from '../shared/deadline.ts'
import { AppError } from '../shared/errors.ts'

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
