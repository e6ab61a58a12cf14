import type { Context, Hono } from 'hono'
import { countRuns, listRunPage } from '../../../platform/runs/run-list.ts'
import { RUN_KEYS } from '../../../platform/runs/run-terms.ts'
import { isSearched, searchRuns } from '../../../platform/runs/search-runs.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listRunFilters } from '../../../platform/runs/run-filters.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { addFilterActions, FILTER_NOTICES } from '../frame/lists/kept-filters.ts'
import { isUuidCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { runsPage } from './list-page.ts'
import type { RunsPage } from './list-page.ts'
import type { Undo } from '../frame/undo.ts'
import { plainText } from '../../../shared/query-terms.ts'
import { queryTextOf, readRunsQuery } from './list-query.ts'
import { filtersPath, runFilters } from './saved-filters.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the runs of the organization, and those of one automation. */
export function runListRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, FILTER_NOTICES)
  for (const isShared of [false, true]) addFilterActions(room, deps, runFilters(isShared))

  room.page('viewer', '/executions', async (c) => c.html(runsPage(await readList(c, sql))))

  room.page('viewer', '/automations/:automationId/executions', async (c) => {
    const automation = await getOwnAutomation(c, sql)
    return c.html(runsPage({ ...(await readList(c, sql, automation)), automation }))
  })

  return room.routes
}

async function readList(
  c: Context<SignedIn>,
  sql: Database,
  automation?: Automation,
): Promise<Omit<RunsPage, 'automation'>> {
  const { session, notice } = c.var
  const request = readPageRequest(c, isUuidCursor)
  const query = readRunsQuery(new URL(c.req.url).searchParams)
  const { status, text, columns: _, ...chosen } = query
  const { organizationId } = session.user
  const filter = { ...chosen, organizationId, deploymentId: automation?.id }
  const filters = automation ? [] : await listRunFilters(sql, session.user)
  const view = { session, request, query, filters, notice, undo: undoOf(c) }
  if (text !== undefined || isSearched(filter)) {
    const { after, limit } = request
    const looked = { text: text && plainText(text, RUN_KEYS), after, limit }
    const found = await searchRuns(sql, { ...filter, status }, looked)
    return { ...view, found }
  }
  const counts = await countRuns(sql, filter, request.search)
  const page = await listRunPage(sql, { ...filter, status }, { request, counts })
  return { ...view, listed: { counts, page } }
}

/** Keeps a filter again that was deleted; the list shows what it finds. */
function undoOf(c: Context<SignedIn>): Undo | undefined {
  const name = c.req.query('undo')
  if (name === undefined || c.req.query('notice') !== 'filter-deleted') return undefined
  const query = queryTextOf(new URL(c.req.url).searchParams)
  return { action: filtersPath(c.req.query('shared') === 'yes'), fields: { name, query } }
}
