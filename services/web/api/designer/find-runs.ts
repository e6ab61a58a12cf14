import type { Context } from 'hono'
import { listRunRecords } from '../../../platform/runs/run-history.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import { RUN_KEYS, readRunQuery } from '../../../platform/runs/run-terms.ts'
import { searchRuns } from '../../../platform/runs/search-runs.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { AppError } from '../../../shared/errors.ts'
import * as s from '../openapi/parts.ts'
import { readSingle, readUuidPage } from './requests.ts'

const QUERY_MAX = 500

const names = Object.keys({ ...RUN_KEYS.equal, ...RUN_KEYS.above }).join(', ')

/** The parameter that says which runs are listed. */
export const queryParameter = s.parameter('query', 'query', {
  description:
    'Only the runs that fit all of it, as in the query box of the list of runs: ' +
    `\`status:failed model:gpt* cost>0.1 "out of memory"\`. Its keys: ${names}. ` +
    'Runs are searched part by part: a page may have fewer of them than asked for, or none, ' +
    'before the last one.',
  schema: { type: 'string', minLength: 1, maxLength: QUERY_MAX },
})

type Range = Pick<
  Parameters<typeof listRunRecords>[1],
  'organizationId' | 'deploymentId' | 'projectId' | 'status'
>

/** Returns a page of runs that the `query` of a request asks for; undefined where it has none. */
export async function findRuns(
  c: Context,
  sql: Database,
  range: Range,
): Promise<{ readonly rows: RunRecord[]; readonly next: string | undefined } | undefined> {
  const typed = readSingle(c, 'query')
  if (typed === undefined) return undefined
  const { terms, text, problem } = readRunQuery(typed)
  if (typed.length > QUERY_MAX || problem !== undefined) {
    const why = problem ?? `it must have at most ${QUERY_MAX} characters`
    throw new AppError('invalid_request', `query is not valid: ${why}.`)
  }
  const { limit, cursor: after } = readUuidPage(c)
  const status = range.status ?? terms.status
  if (range.status !== undefined && (terms.status ?? range.status) !== range.status) {
    return { rows: [], next: undefined }
  }
  const filter = { ...terms, ...range, status }
  const found = await searchRuns(sql, filter, { text: text || undefined, after, limit })
  const ids = found.items.map(({ id }) => id)
  return { rows: await listRunRecords(sql, { ...range, ids, limit }), next: found.next }
}
