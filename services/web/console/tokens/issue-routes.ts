import { Hono } from 'hono'
import { createStaticToken } from '../../../platform/automations/static-tokens.ts'
import { automationUrl } from '../../api/automation/automation-urls.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { limitFacts } from '../frame/token-facts.ts'
import { readTokenFields, tokenNameProblem, toTokenLimits } from '../frame/token-fields.ts'
import { newTokenPage } from '../frame/new-token-page.ts'
import type { ReadTokensPage } from './page.ts'
import { automationTokensPage } from './page.ts'

/** Issues a static token with the form of an automation's tokens (SPEC 5.2). */
export function issueTokenRoutes(deps: WebDeps, readPage: ReadTokensPage): Hono<SignedIn> {
  const { sql, config } = deps
  const daysMax = config.STATIC_TOKEN_DAYS_MAX
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.post('/automations/:automationId/tokens', requireSession(deps), form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const { user } = c.var.session
    const name = (c.var.form.get('name') ?? '').trim()
    const wide = c.var.form.get('scope') === 'organization'
    const fields = readTokenFields(c.var.form)
    const limits = toTokenLimits(fields, { daysMax, now: Date.now() })
    const problem = tokenNameProblem(name) ?? ('problem' in limits ? limits.problem : undefined)
    if ('problem' in limits || problem !== undefined) {
      const tokenForm = { name, isWide: wide, fields, problem: problem ?? '' }
      const page = await readPage(c, automation)
      return c.html(automationTokensPage({ ...page, form: tokenForm }), 422)
    }
    const wanted = {
      ...limits,
      organizationId: user.organizationId,
      deploymentId: wide ? null : automation.id,
      name,
      createdBy: user.id,
    }
    const { secret: token } = await audited(
      c.var,
      (tx) => createStaticToken(tx, wanted),
      ({ id, secret }) => ({
        action: 'static_token_issued',
        target: { kind: 'static_token', id, name },
        after: {
          automation: wide ? null : automation.automationId,
          last_four: secret.slice(-4),
          ...limitFacts(limits),
        },
      }),
    )
    const apiUrl = automationUrl(config, automation.automationId)
    const path = `/automations/${automation.automationId}`
    const crumbs = [
      { path: '/automations', name: 'Automations' },
      { path, name: automation.name },
      { path: `${path}/tokens`, name: 'Tokens' },
    ]
    const scope = { automation: wide ? undefined : automation.name, limits, apiUrl, crumbs }
    return c.html(newTokenPage({ session: c.var.session, name, token, ...scope }))
  })

  return routes
}
