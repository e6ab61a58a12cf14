import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  findStaticToken,
  listStaticTokens,
  revokeStaticToken,
} from '../../../platform/static-tokens.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isIdCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { tokensPage } from './page.ts'
import { revokePage } from './revoke-page.ts'

/** Lists and revokes the static tokens of an automation (SPEC 5.2), for any member. */
export function staticTokenRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const path = '/automations/:automationId/tokens'

  routes.get(path, session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const request = readPageRequest(c, isIdCursor)
    const page = await listStaticTokens(sql, automation, request)
    return c.html(tokensPage({ session: c.var.session, automation, page, request }))
  })

  routes.get(`${path}/:tokenId/revoke`, session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const { organizationId } = automation
    const token = await findStaticToken(sql, { id: readTokenId(c), organizationId })
    if (!token) throw noSuchToken()
    return c.html(revokePage(c.var.session, automation, token))
  })

  routes.post(`${path}/:tokenId/revoke`, session, form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const { organizationId } = automation
    const id = readTokenId(c)
    const token = await findStaticToken(sql, { id, organizationId })
    const target = { kind: 'static_token', id, name: token?.name }
    const revoke = async (tx: Transaction): Promise<void> => {
      if (!(await revokeStaticToken(tx, { id, organizationId }))) throw noSuchToken()
    }
    await audited(c.var, revoke, { action: 'static_token_revoked', target })
    return c.redirect(`/automations/${automation.automationId}?notice=token-revoked`, 303)
  })

  return routes
}

function readTokenId(c: Context): number {
  const text = c.req.param('tokenId') ?? ''
  if (isIdCursor(text)) return Number(text)
  throw noSuchToken()
}

const noSuchToken = (): AppError =>
  new AppError('not_found', 'Your organization has no such token, or it has already been revoked.')
