import type { Hono } from 'hono'
import { listAutomationActivity } from '../../../platform/runs/activity.ts'
import { findRun } from '../../../platform/runs/runs.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isUuidCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { automationsPage } from './list-page.ts'
import { automationPage } from './page.ts'
import { createPageReader } from './read-page.ts'
import { toTexts } from '../frame/start-form.ts'
import { startRoutes } from './start-routes.ts'
import { tabRoutes } from './tab-routes.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the list of automations, and the pages of each with their forms. */
export function automationRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const readPage = createPageReader(deps)

  room.page('viewer', '/automations', async (c) => {
    const { session, notice } = c.var
    const request = readPageRequest(c, isUuidCursor)
    const page = await listAutomationActivity(sql, session.user.organizationId, request)
    return c.html(automationsPage({ session, page, request, notice }))
  })

  room.page('viewer', '/automations/:automationId', async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const page = await readPage(c, automation)
    const earlier = await findRun(sql, automation.id, c.req.query('from') ?? '')
    const startForm = earlier && { inputs: toTexts(earlier.inputs) }
    return c.html(automationPage({ ...page, startForm, notice: c.var.notice }))
  })

  room.routes.route('/', startRoutes(deps, readPage))
  room.routes.route('/', tabRoutes(deps))
  return room.routes
}
