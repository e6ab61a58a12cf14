import { Hono } from 'hono'
import type { Context } from 'hono'
import { countExecutions, listExecutionPage } from '../../platform/execution-list.ts'
import type { Deployment } from '../../platform/deployments.ts'
import { EXECUTION_STATUSES } from '../../platform/executions.ts'
import type { Database } from '../../shared/database.ts'
import { requireSession } from '../auth/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import { getOwnAutomation } from '../own-automation.ts'
import { isUuidCursor, readPageRequest } from '../page-request.ts'
import { executionsPage } from '../views/executions-page.ts'
import type { ExecutionsPage } from '../views/executions-page.ts'

/** The runs of the organization, and those of one automation. */
export function executionListRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)

  routes.get('/executions', session, async (c) => c.html(executionsPage(await readList(c, sql))))

  routes.get('/automations/:automationId/executions', session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    return c.html(executionsPage({ ...(await readList(c, sql, automation)), automation }))
  })

  return routes
}

async function readList(
  c: Context<SignedIn>,
  sql: Database,
  automation?: Deployment,
): Promise<Omit<ExecutionsPage, 'automation'>> {
  const { session } = c.var
  const request = readPageRequest(c, isUuidCursor)
  const status = EXECUTION_STATUSES.find((each) => each === c.req.query('status'))
  const { organizationId } = session.user
  const filter = { organizationId, deploymentId: automation?.id }
  const counts = await countExecutions(sql, filter, request.search)
  const page = await listExecutionPage(sql, { ...filter, status }, { request, counts })
  return { session, request, status, counts, page }
}
