import type { Context, Hono } from 'hono'
import { listAutomationNames } from '../../../platform/automations/automations.ts'
import { listWaiting } from '../../../platform/runs/run-history.ts'
import { countTraceNotes } from '../../../platform/traces/trace-notes.ts'
import { listTraceFilters } from '../../../platform/traces/trace-filters.ts'
import { csvRow } from '../../../shared/csv.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { toTraceId } from '../frame/addresses.ts'
import { FILTER_NOTICES, addFilterActions } from '../frame/lists/kept-filters.ts'
import type { Problem } from './filter-form.ts'
import { traceListPage } from './list-page.ts'
import type { FoundTraces } from './list-page.ts'
import { CHOICES, CHOICE_NAMES, FIELD_NAMES, pageParameters, readListQuery } from './list-query.ts'
import type { ListQuery } from './list-query.ts'
import { readFilter } from './list-filter.ts'
import { readerOf } from './reader-of.ts'
import { TRACE_FILTERS } from './saved-filters.ts'
import { USAGE_DAYS, usagePage } from './usage-page.ts'
import { GROUPING_NAMES, readUsageRows } from './usage-rows.ts'
import { createRoom } from '../frame/room.ts'
import type { UsageRow } from './usage-rows.ts'

const ROWS = '50'
const DAY_MS = 86_400_000

/** Serves what is known of many traces: the list and usage. */
export function traceListRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps, FILTER_NOTICES)
  addFilterActions(room, deps, TRACE_FILTERS)

  room.page('viewer', '/traces', async (c) => {
    const query = readListQuery(new URL(c.req.url).searchParams)
    const { user } = c.var.session
    const [automations, filters, outcome] = await Promise.all([
      listAutomationNames(deps.sql, user.organizationId),
      listTraceFilters(deps.sql, user),
      find(c, deps, query),
    ])
    const ids = outcome.found?.traces.traces.map(({ trace_id: id }) => id) ?? []
    const own = { organizationId: user.organizationId, ids }
    const waiting = new Set((await listWaiting(deps.sql, own)).map(toTraceId))
    const opinions = await countTraceNotes(deps.sql, user.organizationId, ids)
    const isDeleted = c.req.query('notice') === 'filter-deleted'
    const deleted = isDeleted ? c.req.query('undo') : undefined
    const known = { session: c.var.session, query, automations, filters, opinions, waiting }
    const facts = { ...known, notice: c.var.notice, deleted }
    const page = traceListPage({ ...facts, ...outcome })
    return c.html(page, outcome.problem ? 422 : 200)
  })

  room.page('viewer', '/usage', async (c) => c.html(usagePage(await readUsage(c, deps))))

  room.page('viewer', '/usage.csv', async (c) => {
    const usage = await readUsage(c, deps)
    return c.body(usageCsv(usage.rows), 200, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="usage-by-${usage.by}.csv"`,
    })
  })

  return room.routes
}

interface Outcome {
  readonly found: FoundTraces | undefined
  readonly problem: Problem | undefined
}

/** A filter that makes no sense is a matter of its field; other errors are pages of their own. */
async function find(c: Context<SignedIn>, deps: WebDeps, query: ListQuery): Promise<Outcome> {
  const wrong = problemOf(query)
  if (wrong) return { found: undefined, problem: wrong }
  const reader = readerOf(c, deps)
  const parameters = await readFilter(deps.sql, c.var.session.user.organizationId, query)
  const listed = pageParameters(query, parameters)
  listed.set('limit', ROWS)
  try {
    const [traces, histogram, totals] = await Promise.all([
      reader.list(listed),
      reader.histogram(parameters),
      reader.totals(parameters),
    ])
    return { found: { traces, histogram, totals }, problem: undefined }
  } catch (thrown) {
    if (!(thrown instanceof AppError) || thrown.code !== 'invalid_request') throw thrown
    const field = FIELD_NAMES.find((name) => name === thrown.details['parameter'])
    return { found: undefined, problem: { field, message: thrown.message } }
  }
}

/** The words of choices are ours, everything else is for the collector to say. */
function problemOf({ unknown }: ListQuery): Problem | undefined {
  const field = CHOICE_NAMES.find((name) => unknown[name] !== undefined)
  if (field === undefined) return undefined
  const allowed = CHOICES[field].join(', ')
  return { field, message: `${field} must be ${allowed} (given: “${unknown[field]}”).` }
}

async function readUsage(c: Context<SignedIn>, deps: WebDeps) {
  const by = GROUPING_NAMES.find((each) => each === c.req.query('by')) ?? 'day'
  const days = USAGE_DAYS.find((each) => String(each) === c.req.query('days')) ?? 30
  // From midnight on: the first day is a whole one.
  const from = new Date((Math.floor(Date.now() / DAY_MS) - days + 1) * DAY_MS)
  const automations = await listAutomationNames(deps.sql, c.var.session.user.organizationId)
  const rows = await readUsageRows(readerOf(c, deps), { by, from }, automations)
  return { session: c.var.session, by, days, rows }
}

const HEAD = [
  'group',
  'calls',
  'errors',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'unpriced_calls',
  'p50_ms',
  'p95_ms',
  'traces',
]

/** The table of usage as CSV (RFC 4180). */
export function usageCsv(rows: readonly UsageRow[]): string {
  const values = rows.map((row) => [
    row.name,
    row.calls,
    row.failed,
    row.inputTokens,
    row.outputTokens,
    row.costUsd ?? '',
    row.unpriced,
    row.p50 ?? '',
    row.p95 ?? '',
    row.traces ?? '',
  ])
  return [HEAD, ...values].map(csvRow).join('')
}
