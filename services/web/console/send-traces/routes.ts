import { Hono } from 'hono'
import type { Context } from 'hono'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import {
  countExpiringTokens,
  findTraceToken,
  listTraceTokens,
  markTraceTokenRevoked,
  recordTraceToken,
  TRACE_TOKENS_A_YEAR,
} from '../../../platform/traces/trace-tokens.ts'
import type { TraceToken } from '../../../platform/traces/trace-tokens.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import { requireSession } from '../../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { TraceTokens } from '../../traces/trace-tokens.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { isIdCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import { newTokenPage } from './new-token-page.ts'
import { sendTracesPage } from './page.ts'
import type { SendTracesPage } from './page.ts'
import { createSettings } from './settings.ts'
import { EMPTY_FORM, readTokenForm } from './token-form.ts'

const PATH = '/send-traces'

/** Serves the page that shows how to send traces; issues and revokes tokens, for any member. */
export function sendTracesRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const readPage = createPageReader(deps)

  routes.get(PATH, session, async (c) => {
    const notice = noticeOf(c.req.query('notice'))
    return c.html(sendTracesPage({ ...(await readPage(c)), notice }))
  })

  routes.post(`${PATH}/tokens`, session, form, async (c) => {
    const tokens = tokensOf(deps)
    const { organizationId, id: createdBy } = c.var.session.user
    const given = readTokenForm(c.var.form)
    const refuse = async (problem?: string): Promise<Response> =>
      c.html(sendTracesPage({ ...(await readPage(c)), form: given, problem }), 422)
    if (Object.keys(given.problems).length > 0) return refuse()
    const { name, scope } = given
    const order = { organizationId, name, scope, days: Number(given.days), createdBy }
    const recorded = await audited(
      c.var,
      (tx) => recordTraceToken(tx, order),
      (issued) => issued && issuedEntry(order, issued),
    )
    if (!recorded) return refuse(TOO_MANY)
    const token = await tokens.sign({ ...recorded, scope, organizationId })
    const { endpoint } = tokens
    return c.html(newTokenPage({ session: c.var.session, ...order, ...recorded, token, endpoint }))
  })

  routes.get(`${PATH}/tokens/:id/revoke`, session, async (c) =>
    c.html(revokePage(c, await getToken(c, deps))),
  )

  routes.post(`${PATH}/tokens/:id/revoke`, session, form, async (c) => {
    const token = await getToken(c, deps)
    // First the collector: what pages call revoked must be refused there.
    await tokensOf(deps).revoke(token)
    const { organizationId, id: revokedBy } = c.var.session.user
    const key = { id: token.id, organizationId, revokedBy }
    const target = { kind: 'trace_token', id: token.tokenId, name: token.name }
    const entry = { action: 'trace_token_revoked', target }
    await audited(c.var, (tx) => markTraceTokenRevoked(tx, key), entry)
    return c.redirect(`${PATH}?notice=trace-token-revoked`, 303)
  })

  return routes
}

const issuedEntry = (
  { name, scope }: Pick<TraceToken, 'name' | 'scope'>,
  { tokenId, expiresAt }: Pick<TraceToken, 'tokenId' | 'expiresAt'>,
): AuditEntry => ({
  action: 'trace_token_issued',
  target: { kind: 'trace_token', id: tokenId, name },
  after: { scope, expires_at: expiresAt },
})

const TOO_MANY =
  `Your organization has issued ${TRACE_TOKENS_A_YEAR} tokens within a year, which is the limit. ` +
  'Give tokens more days, and use one of them for several programs.'

/** Reads all that the page shows apart from what was just done: a refused form shows it again. */
function createPageReader(deps: WebDeps): (c: Context<SignedIn>) => Promise<SendTracesPage> {
  const settings = createSettings()
  return async (c) => {
    const { endpoint } = tokensOf(deps)
    const { session } = c.var
    const { organizationId } = session.user
    const request = readPageRequest(c, isIdCursor)
    const [tokens, expiring] = await Promise.all([
      listTraceTokens(deps.sql, organizationId, request),
      countExpiringTokens(deps.sql, organizationId),
    ])
    const setting = settings.find(c.req.query('for') ?? '')
    const list = { tokens, request, expiring, form: EMPTY_FORM }
    const texts = { notice: undefined, problem: undefined }
    return { session, endpoint, ...list, settings: settings.all, setting, ...texts }
  }
}

function revokePage(c: Context<SignedIn>, token: TraceToken) {
  return confirmPage({
    session: c.var.session,
    current: '/traces',
    crumbs: [
      { path: '/traces', name: 'Traces' },
      { path: PATH, name: 'Send traces' },
    ],
    question: `Revoke the token ${token.name}?`,
    consequence:
      'Every program that uses it is refused by the trace collector, within a minute. ' +
      'A revoked token cannot be restored.',
    action: `${PATH}/tokens/${token.id}/revoke`,
    verb: 'Revoke',
    back: `${PATH}#tokens`,
  })
}

function tokensOf({ traceTokens }: WebDeps): TraceTokens {
  if (traceTokens) return traceTokens
  throw new AppError(
    'not_found',
    'This installation keeps no traces: the trace collector is off (chart: collector.enabled).',
  )
}

/** A token of the organization that is not revoked. Raises `not_found`. */
async function getToken(c: Context<SignedIn>, { sql }: WebDeps): Promise<TraceToken> {
  const text = c.req.param('id') ?? ''
  const { organizationId } = c.var.session.user
  const found = isIdCursor(text)
    ? await findTraceToken(sql, { id: Number(text), organizationId })
    : undefined
  if (found) return found
  const message = 'Your organization has no such token, or it has already been revoked.'
  throw new AppError('not_found', message)
}
