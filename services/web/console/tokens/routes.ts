import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  findStaticToken,
  listStaticTokens,
  revokeStaticToken,
} from '../../../platform/automations/static-tokens.ts'
import type { ListedToken } from '../../../platform/automations/static-tokens.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database, Transaction } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isIdCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { issueTokenRoutes } from './issue-routes.ts'
import { automationTokensPage, tokensPage } from './page.ts'
import type { ReadTokensPage } from './page.ts'
import { replaceRoutes } from './replace-routes.ts'
import { revokePage } from './revoke-page.ts'

/** Lists, replaces and revokes static tokens (SPEC 5.2). */
export function staticTokenRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  const readPage: ReadTokensPage = async (c, automation) => {
    const request = readPageRequest(c, isIdCursor)
    const page = await listStaticTokens(sql, automation, request)
    const tokenDaysMax = config.STATIC_TOKEN_DAYS_MAX
    return { session: c.var.session, automation, page, request, tokenDaysMax }
  }

  routes.get('/tokens', session, async (c) => {
    const { organizationId } = c.var.session.user
    const request = readPageRequest(c, isIdCursor)
    const page = await listStaticTokens(sql, { id: null, organizationId }, request)
    const notice = noticeOf(c.req.query('notice'))
    return c.html(tokensPage({ session: c.var.session, page, request, notice }))
  })

  routes.get('/automations/:automationId/tokens', session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    return c.html(automationTokensPage(await readPage(c, automation)))
  })

  routes.get('/tokens/:tokenId/revoke', session, async (c) =>
    c.html(revokePage(c.var.session, await getOwnToken(c, sql))),
  )

  routes.post('/tokens/:tokenId/revoke', session, form, async (c) => {
    const { organizationId } = c.var.session.user
    const { id, name } = await getOwnToken(c, sql)
    const revoke = async (tx: Transaction): Promise<void> => {
      if (!(await revokeStaticToken(tx, { id, organizationId }))) throw noSuchToken()
    }
    const target = { kind: 'static_token', id, name }
    await audited(c.var, revoke, { action: 'static_token_revoked', target })
    return c.redirect('/tokens?notice=token-revoked', 303)
  })

  routes.route('/', issueTokenRoutes(deps, readPage))
  routes.route(
    '/',
    replaceRoutes(deps, (c) => getOwnToken(c, sql)),
  )
  return routes
}

/** Returns the token of the path. Raises `not_found`, also for one of another organization. */
async function getOwnToken(c: Context<SignedIn>, sql: Database): Promise<ListedToken> {
  const { organizationId } = c.var.session.user
  const text = c.req.param('tokenId') ?? ''
  const id = isIdCursor(text) ? Number(text) : undefined
  const found = id === undefined ? undefined : await findStaticToken(sql, { id, organizationId })
  if (!found) throw noSuchToken()
  return found
}

const noSuchToken = (): AppError =>
  new AppError('not_found', 'Your organization has no such token, or it has already been revoked.')
