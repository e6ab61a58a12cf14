import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  createStaticToken,
  endStaticToken,
  revokeStaticToken,
} from '../../../platform/automations/static-tokens.ts'
import type { ListedToken } from '../../../platform/automations/static-tokens.ts'
import type { TokenLimits } from '../../../platform/automations/token-limits.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { automationUrl } from '../../api/automation/automation-urls.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { newTokenPage } from '../frame/new-token-page.ts'
import { limitFacts } from '../frame/token-facts.ts'
import { readTokenFields, toTokenLimits } from '../frame/token-fields.ts'
import type { TokenFields } from '../frame/token-fields.ts'
import { OVERLAP_DAYS, replacePage } from './replace-page.ts'

const OVERLAP_DEFAULT = 7
const DAY_MS = 86_400_000

/** Puts a new token in the place of another one, which ends some days later. */
export function replaceRoutes(
  deps: WebDeps,
  getToken: (c: Context<SignedIn>) => Promise<ListedToken>,
): Hono<SignedIn> {
  const { sql, config } = deps
  const daysMax = config.STATIC_TOKEN_DAYS_MAX
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const path = '/tokens/:tokenId/replace'

  routes.get(path, session, async (c) => {
    const token = await getToken(c)
    const form = { fields: fieldsOf(token), overlapDays: OVERLAP_DEFAULT, daysMax }
    return c.html(replacePage({ session: c.var.session, token, ...form }))
  })

  routes.post(path, session, requireForm(config.PLATFORM_BASE_URL), async (c) => {
    const token = await getToken(c)
    const fields = readTokenFields(c.var.form)
    const overlapDays = readOverlap(c.var.form.get('overlap'))
    const limits = toTokenLimits(fields, { daysMax, now: Date.now() })
    if ('problem' in limits) {
      const form = { fields, overlapDays, daysMax, problem: limits.problem }
      return c.html(replacePage({ session: c.var.session, token, ...form }), 422)
    }
    const { id: createdBy, organizationId } = c.var.session.user
    const wanted = { token, limits, overlapDays, createdBy, organizationId }
    const { secret } = await audited(
      c.var,
      (tx) => replace(tx, wanted),
      (issued) => ({
        action: 'static_token_replaced',
        target: { kind: 'static_token', id: issued.id, name: token.name },
        before: { id: token.id, last_four: token.lastFour, ...limitFacts(token) },
        after: { id: issued.id, last_four: issued.secret.slice(-4), ...limitFacts(limits) },
      }),
    )
    return c.html(
      newTokenPage({
        session: c.var.session,
        name: token.name,
        token: secret,
        automation: token.automationName ?? undefined,
        limits,
        apiUrl: token.automationId ? automationUrl(config, token.automationId) : undefined,
        hint: hintOf(overlapDays),
        crumbs: [{ path: '/tokens', name: 'Tokens' }],
      }),
    )
  })

  return routes
}

interface Replacement {
  readonly token: ListedToken
  readonly limits: TokenLimits
  readonly overlapDays: number
  readonly createdBy: number
  readonly organizationId: number
}

async function replace(tx: Transaction, wanted: Replacement) {
  const { token, limits, overlapDays, createdBy, organizationId } = wanted
  const { id, name, deploymentId } = token
  const owner = { organizationId, deploymentId, name, createdBy }
  const issued = await createStaticToken(tx, { ...owner, ...limits, replaces: id })
  if (overlapDays === 0) await revokeStaticToken(tx, { id, organizationId })
  else await endStaticToken(tx, { id, organizationId }, overlapDays)
  return issued
}

/** The same again: a token that was to live for 90 days gets 90 more. */
function fieldsOf({ scopes, createdAt, expiresAt, networks }: ListedToken): TokenFields {
  const livedMs = expiresAt && expiresAt.getTime() - createdAt.getTime()
  const days = livedMs === null ? '' : String(Math.max(1, Math.round(livedMs / DAY_MS)))
  return { scopes, days, networks: networks.join(', ') }
}

function readOverlap(text: string | null): number {
  return OVERLAP_DAYS.find((days) => String(days) === text) ?? OVERLAP_DEFAULT
}

const hintOf = (days: number): string =>
  days === 0
    ? 'The former token has ended.'
    : `The former token stays valid for ${days === 1 ? 'a day' : `${days} days`} at the most.`
