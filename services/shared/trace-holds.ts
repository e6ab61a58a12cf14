import { callCollector, COLLECTOR_MS } from './collector-call.ts'
import type { CollectorPlace } from './collector-call.ts'
import { deadline } from './deadline.ts'

/** Puts traces under legal holds. Both raise `unavailable`, `timeout` and `bad_gateway`. */
export interface TraceHolds {
  add(organizationId: number, holdId: string, traceIds: readonly string[]): Promise<void>
  /** Lets all traces of a hold go. */
  lift(organizationId: number, holdId: string): Promise<void>
}

/** Returns what tells the trace collector of holds. */
export function openTraceHolds(collector: CollectorPlace): TraceHolds {
  const call = (
    organizationId: number,
    holdId: string,
    how: { readonly method: 'PUT' | 'DELETE'; readonly body?: string },
  ): Promise<void> =>
    deadline({ name: 'The trace collector', timeoutMs: COLLECTOR_MS }, async (signal) => {
      const claims = { scopes: ['holds:write'], organization: String(organizationId) } as const
      const asked = { path: `/holds/${holdId}`, claims, missing: OLD, ...how }
      await callCollector(collector, asked, signal)
    })
  return {
    add: (organizationId, holdId, traceIds) =>
      call(organizationId, holdId, {
        method: 'PUT',
        body: JSON.stringify({ trace_ids: traceIds }),
      }),
    lift: (organizationId, holdId) => call(organizationId, holdId, { method: 'DELETE' }),
  }
}

const OLD = 'The trace collector is older than the platform, and takes no holds. Upgrade it.'
