import { Hono } from 'hono'
import { listAutomationActivity } from '../../../platform/activity.ts'
import { limitConcurrency } from '../../../platform/automations.ts'
import { findRun } from '../../../platform/runs.ts'
import { automationEntry } from '../../callers/audit-entries.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isUuidCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { issueTokenRoutes } from './issue-token-routes.ts'
import { automationsPage } from './list-page.ts'
import { automationPage } from './page.ts'
import { createPageReader } from './read-page.ts'
import { toTexts } from '../frame/start-form.ts'
import { startRoutes } from './start-routes.ts'

const CONCURRENCY_MAX = 1000
const CONCURRENCY_PROBLEM =
  `Enter a number between 1 and ${CONCURRENCY_MAX}, ` + 'or leave the field empty for no limit.'

/** Serves the list of automations, and the page of each with its forms. */
export function automationRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const readPage = createPageReader(deps)

  routes.get('/automations', session, async (c) => {
    const { session } = c.var
    const request = readPageRequest(c, isUuidCursor)
    const page = await listAutomationActivity(sql, session.user.organizationId, request)
    const baseUrl = config.PLATFORM_BASE_URL
    return c.html(automationsPage({ session, page, request, baseUrl }))
  })

  routes.get('/automations/:automationId', session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const page = await readPage(c, automation)
    const earlier = await findRun(sql, automation.id, c.req.query('from') ?? '')
    const startForm = earlier && { inputs: toTexts(earlier.inputs) }
    const notice = noticeOf(c.req.query('notice'))
    return c.html(automationPage({ ...page, startForm, notice }))
  })

  routes.post('/automations/:automationId/concurrency', session, form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const limit = readLimit(c.var.form.get('concurrency_max') ?? '')
    if (limit === undefined) {
      const page = await readPage(c, automation)
      return c.html(automationPage({ ...page, limitProblem: CONCURRENCY_PROBLEM }), 422)
    }
    await audited(c.var, (tx) => limitConcurrency(tx, automation, limit), {
      ...automationEntry('concurrency_limited', automation),
      before: { concurrency_max: automation.concurrencyMax },
      after: { concurrency_max: limit },
    })
    return c.redirect(`/automations/${automation.automationId}?notice=limit-saved`, 303)
  })

  routes.route('/', startRoutes(deps, readPage))
  routes.route('/', issueTokenRoutes(deps, readPage))
  return routes
}

/** Returns the typed limit, null for no limit, and undefined for anything else. */
function readLimit(text: string): number | null | undefined {
  const typed = text.trim()
  if (typed === '') return null
  const limit = Number(typed)
  return /^\d{1,4}$/.test(typed) && limit >= 1 && limit <= CONCURRENCY_MAX ? limit : undefined
}
