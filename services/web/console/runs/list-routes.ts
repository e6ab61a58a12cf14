import { Hono } from 'hono'
import type { Context } from 'hono'
import { countRuns, listRunPage, searchRuns } from '../../../platform/run-list.ts'
import type { Automation } from '../../../platform/automations.ts'
import { RUN_STATUSES, TRIGGERS } from '../../../platform/runs.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { readDay, readText } from '../frame/lists/filter-bar.ts'
import { isUuidCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { runsPage } from './list-page.ts'
import type { RunsPage, RunsQuery } from './list-page.ts'

/** Serves the runs of the organization, and those of one automation. */
export function runListRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)

  routes.get('/executions', session, async (c) => c.html(runsPage(await readList(c, sql))))

  routes.get('/automations/:automationId/executions', session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    return c.html(runsPage({ ...(await readList(c, sql, automation)), automation }))
  })

  return routes
}

async function readList(
  c: Context<SignedIn>,
  sql: Database,
  automation?: Automation,
): Promise<Omit<RunsPage, 'automation'>> {
  const { session } = c.var
  const request = readPageRequest(c, isUuidCursor)
  const query = readQuery(c)
  const { status, text, ...chosen } = query
  const { organizationId } = session.user
  const filter = { ...chosen, organizationId, deploymentId: automation?.id }
  const view = { session, request, query }
  if (text !== undefined) {
    const { after, limit } = request
    const found = await searchRuns(sql, { ...filter, status }, { text, after, limit })
    return { ...view, found }
  }
  const counts = await countRuns(sql, filter, request.search)
  const page = await listRunPage(sql, { ...filter, status }, { request, counts })
  return { ...view, listed: { counts, page } }
}

function readQuery(c: Context<SignedIn>): RunsQuery {
  const text = (name: string): string | undefined => readText(c.req.query(name))
  return {
    status: RUN_STATUSES.find((each) => each === c.req.query('status')),
    trigger: TRIGGERS.find((each) => each === c.req.query('trigger')),
    automation: text('automation'),
    starter: text('by'),
    text: text('text'),
    since: readDay(c.req.query('since')),
    until: readDay(c.req.query('until')),
  }
}
