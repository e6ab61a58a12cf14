import { Hono } from 'hono'
import { createStaticToken } from '../../../platform/static-tokens.ts'
import { automationUrl } from '../../automation-api/automation-urls.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { newTokenPage } from './new-token-page.ts'
import { automationPage } from './page.ts'
import type { ReadAutomationPage } from './read-page.ts'

const NAME_LENGTH_MAX = 100

/** Issues a static token with the form of an automation's page (SPEC 5.2), for any member. */
export function issueTokenRoutes(deps: WebDeps, readPage: ReadAutomationPage): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.post('/automations/:automationId/tokens', requireSession(deps), form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const { user } = c.var.session
    const name = (c.var.form.get('name') ?? '').trim()
    const wide = c.var.form.get('scope') === 'organization'
    const problem = problemOf(name)
    if (problem) {
      const page = await readPage(c, automation)
      return c.html(automationPage({ ...page, tokenForm: { name, problem } }), 422)
    }
    const wanted = {
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
        },
      }),
    )
    const apiUrl = automationUrl(config, automation.automationId)
    return c.html(newTokenPage({ session: c.var.session, automation, token, name, wide, apiUrl }))
  })

  return routes
}

function problemOf(name: string): string | undefined {
  if (name === '') return 'Give the token a name, such as that of the system that will use it.'
  if (name.length > NAME_LENGTH_MAX)
    return `A name must have at most ${NAME_LENGTH_MAX} characters.`
  return /\p{Cc}/u.test(name) ? 'A name must have no control characters.' : undefined
}
