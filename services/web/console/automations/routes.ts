import { Hono } from 'hono'
import { listAutomationActivity } from '../../../platform/runs/activity.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isUuidCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { automationsPage } from './list-page.ts'
import { automationPage } from './page.ts'
import { createPageReader } from './read-page.ts'
import { toTexts } from '../frame/start-form.ts'
import { startRoutes } from './start-routes.ts'
import { tabRoutes } from './tab-routes.ts'

/** Serves the list of automations, and the pages of each with their forms. */
export function automationRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const readPage = createPageReader(deps)

  routes.get('/automations', session, async (c) => {
    const { session } = c.var
    const request = readPageRequest(c, isUuidCursor)
    const page = await listAutomationActivity(sql, session.user.organizationId, request)
    const notice = noticeOf(c.req.query('notice'))
    return c.html(automationsPage({ session, page, request, notice }))
  })

  routes.get('/automations/:automationId', session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const page = await readPage(c, automation)
    const earlier = await findRun(sql, automation.id, c.req.query('from') ?? '')
    const startForm = earlier && { inputs: toTexts(earlier.inputs) }
    const notice = noticeOf(c.req.query('notice'))
    return c.html(automationPage({ ...page, startForm, notice }))
  })

  routes.route('/', startRoutes(deps, readPage))
  routes.route('/', tabRoutes(deps))
  return routes
}
