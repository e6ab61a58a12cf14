import { listNotedTraces } from '../../../platform/traces/trace-notes.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { filterParameters } from './list-query.ts'
import type { ListQuery } from './list-query.ts'

/** Traces with notes that a filter finds: those that got theirs last. */
const NOTED_MAX = 200
/** An id that no trace has. */
const NONE = '0'.repeat(32)

/** The parameters of a filter for the collector, which knows no notes: it gets their traces. */
export async function readFilter(
  sql: Queryable,
  organizationId: number,
  query: ListQuery,
): Promise<URLSearchParams> {
  const parameters = filterParameters(query, Date.now())
  const { noted } = query
  if (noted === undefined) return parameters
  const rating = noted === 'any' ? undefined : noted
  const ids = await listNotedTraces(sql, organizationId, { rating, limit: NOTED_MAX })
  parameters.set('trace', ids.join(',') || NONE)
  return parameters
}
