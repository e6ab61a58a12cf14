import { Hono } from 'hono'
import { countExecutionsByHour, listAutomationActivity } from '../../platform/activity.ts'
import { countExecutions, listRecentExecutions } from '../../platform/executions.ts'
import { requireSession } from '../auth/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import { dashboardPage } from '../views/dashboard-page.ts'
import { noticeOf, warningOf } from '../views/notices.ts'

const RECENT = 10

/** `GET /`: how the organization's automations are doing. */
export function dashboardRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const routes = new Hono<SignedIn>()
  routes.get('/', requireSession(deps), async (c) => {
    const { session } = c.var
    const { organizationId } = session.user
    const [automations, counts, hours, recent] = await Promise.all([
      listAutomationActivity(sql, organizationId),
      countExecutions(sql, organizationId),
      countExecutionsByHour(sql, organizationId),
      listRecentExecutions(sql, organizationId, RECENT),
    ])
    const told = c.req.query('notice')
    const messages = { notice: noticeOf(told), warning: warningOf(told) }
    return c.html(dashboardPage({ session, ...messages, automations, counts, hours, recent }))
  })
  return routes
}
