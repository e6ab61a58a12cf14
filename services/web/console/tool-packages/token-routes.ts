import { Hono } from 'hono'
import type { Context } from 'hono'
import { createStaticToken } from '../../../platform/automations/static-tokens.ts'
import type { TokenLimits } from '../../../platform/automations/token-limits.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { newTokenPage } from '../frame/new-token-page.ts'
import type { Html } from '../frame/parts.ts'
import { limitFacts } from '../frame/token-facts.ts'
import { readTokenFields, tokenNameProblem, toTokenLimits } from '../frame/token-fields.ts'
import { installCommands, tokenCommand, uploadCommands } from './commands.ts'
import { PACKAGES_PATH } from './paths.ts'
import { PACKAGE_SCOPES } from './token-form.ts'
import type { TypedToken } from './token-form.ts'

/** Issues tokens that upload and read packages, and nothing else. */
export function packageTokenRoutes(
  deps: WebDeps,
  listPage: (c: Context<SignedIn>, typed: TypedToken) => Html,
): Hono<SignedIn> {
  const { sql, config } = deps
  const daysMax = config.STATIC_TOKEN_DAYS_MAX
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.post(`${PACKAGES_PATH}/tokens`, requireSession(deps), form, async (c) => {
    const { session } = c.var
    const name = (c.var.form.get('name') ?? '').trim()
    const fields = readTokenFields(c.var.form)
    const limits = checkScopes(toTokenLimits(fields, { daysMax, now: Date.now() }))
    const problem = tokenNameProblem(name) ?? ('problem' in limits ? limits.problem : undefined)
    if ('problem' in limits || problem !== undefined) {
      return c.html(await listPage(c, { name, fields, problem }), 422)
    }
    const { organizationId, id: createdBy } = session.user
    const wanted = { ...limits, organizationId, deploymentId: null, name, createdBy }
    const { secret: token } = await audited(
      c.var,
      (tx) => createStaticToken(tx, wanted),
      ({ id, secret }) => ({
        action: 'static_token_issued',
        target: { kind: 'static_token', id, name },
        after: { automation: null, last_four: secret.slice(-4), ...limitFacts(limits) },
      }),
    )
    const commands = [tokenCommand(token), ...commandsFor(limits, config.PLATFORM_BASE_URL)]
    const crumbs = [{ path: PACKAGES_PATH, name: 'Tool packages' }]
    const issued = { name, token, limits, commands, crumbs }
    // One that reads, reads the runs of all automations as well.
    const automation = limits.scopes.includes('read')
      ? undefined
      : `The tool packages of ${session.organization}`
    return c.html(newTokenPage({ session, current: PACKAGES_PATH, automation, ...issued }))
  })

  return routes
}

function checkScopes(
  limits: TokenLimits | { readonly problem: string },
): TokenLimits | { readonly problem: string } {
  if ('problem' in limits || limits.scopes.every((each) => PACKAGE_SCOPES.includes(each))) {
    return limits
  }
  return { problem: 'A token for packages is for upload, read, or both.' }
}

/** A token that uploads may also read packages. */
const commandsFor = ({ scopes }: TokenLimits, baseUrl: string) => [
  ...(scopes.includes('upload') ? uploadCommands(baseUrl, 'organization') : []),
  ...installCommands(baseUrl, 'organization', 'my-tool'),
]
