import type { Context, MiddlewareHandler } from 'hono'
import { findOrganizationToken } from '../../../platform/automations/static-token-use.ts'
import { isStaticToken } from '../../../platform/automations/static-tokens.ts'
import { bearerToken } from '../../../shared/http/bearer-token.ts'
import { AppError } from '../../../shared/errors.ts'
import { singleHeader } from '../../../shared/http/single-header.ts'
import { verifyToolsReadToken } from '../../../shared/tools-read-token.ts'
import type { Caller, OrganizationCall, WebDeps } from '../../context.ts'
import { actorOf, toIdentity } from './actor.ts'
import { limitCall } from './call-limits.ts'
import { exactAddress } from './client-address.ts'
import { isSame, requireSameOrigin } from './forms.ts'
import { readSession } from './session.ts'
import type { TokenRefusal } from '../../../platform/automations/static-token-use.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import { NOUNS } from '../../nouns/list.ts'
import { scopedPathsOf } from '../../resources/rights.ts'

const BASIC = /^Basic +([A-Za-z0-9+/]{1,400}={0,2})$/i
/** The user name that clients of package indexes send with a token in HTTP Basic. */
const TOKEN_USER = '__token__'
/** The methods that only read. */
export const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Carries the CSRF token of a session, as the field of that name does in a form. */
const CSRF_HEADER = 'x-csrf-token'

/**
 * Lets a call pass with a token of a whole organization, or with a session; for anything but
 * reading, a session also has to prove that a page of ours sent the call. A header that is there
 * decides: a bad token never falls back to the cookie. Everything else is 401. Counts the calls of
 * a token. Reads no body.
 */
export function requireOrganization(deps: WebDeps): MiddlewareHandler<OrganizationCall> {
  return async function authenticate(c, next) {
    const caller =
      c.req.header('authorization') === undefined
        ? await readSessionCaller(c, deps)
        : await readTokenCaller(c, deps)
    if (!caller) throw refuse(c, deps, 'Bearer realm="platform"')
    c.set('caller', caller)
    await limitCall(c, deps.calls, next)
  }
}

/**
 * Lets a call pass with a token of a whole organization, as a bearer or as the password of HTTP
 * Basic.
 */
export function requireOrganizationToken(deps: WebDeps): MiddlewareHandler<OrganizationCall> {
  return async function authenticate(c, next) {
    const caller = await readTokenCaller(c, deps)
    if (!caller) throw refuse(c, deps, 'Basic realm="platform", charset="UTF-8"')
    c.set('caller', caller)
    await next()
  }
}

/**
 * Lets a call pass that only reads packages: with a token of a whole organization, or with one that
 * was derived for whoever builds a crew.
 */
export function requireToolsReader(deps: WebDeps): MiddlewareHandler<OrganizationCall> {
  const { SECRET_KEY_BASE, SECRET_KEY_BASE_PREVIOUS } = deps.config
  const keys = { secretKeyBase: SECRET_KEY_BASE, previousSecretKeyBase: SECRET_KEY_BASE_PREVIOUS }
  const authenticate = requireOrganizationToken(deps)
  return async function authenticateReader(c, next) {
    const token = readToken(singleHeader(c, 'authorization') ?? '')
    const organizationId = verifyToolsReadToken(keys, token)
    if (organizationId === undefined) return authenticate(c, next)
    Object.assign(c.var.wide, { auth: 'tools_read_token', organization_id: organizationId })
    c.set('caller', { organizationId, internal: false, tokenId: null, userId: null })
    await next()
  }
}

async function readTokenCaller(
  c: Context<OrganizationCall>,
  deps: WebDeps,
): Promise<Caller | undefined> {
  const { sql, config } = deps
  const token = readToken(singleHeader(c, 'authorization') ?? '')
  const scopes = scopesFor(c.req.method, c.req.path)
  const use = { scopes, address: exactAddress(c, config.TRUSTED_PROXIES) }
  const found = isStaticToken(token) ? await findOrganizationToken(sql, token, use) : undefined
  if (!found) {
    c.var.wide['auth_refused'] = 'no_organization_token'
    return undefined
  }
  const { id, name, organizationId, internal, refusal } = found
  if (refusal !== undefined) {
    Object.assign(c.var.wide, { auth_refused: refusal, token_id: id })
    throw refusedToken(refusal, scopes)
  }
  c.set('actor', actorOf(c, deps, { kind: 'token', id: String(id), name, organizationId }))
  Object.assign(c.var.wide, { auth: 'organization_token', organization_id: organizationId })
  return { organizationId, internal, tokenId: id, userId: null }
}

function readToken(header: string): string {
  const basic = BASIC.exec(header)?.[1]
  if (basic === undefined) return bearerToken(header) ?? ''
  const [user, ...password] = Buffer.from(basic, 'base64').toString('utf8').split(':')
  return user === TOKEN_USER ? password.join(':') : ''
}

async function readSessionCaller(
  c: Context<OrganizationCall>,
  deps: WebDeps,
): Promise<Caller | undefined> {
  const session = await readSession(c, deps)
  if (!session) return undefined
  if (!READS.has(c.req.method)) {
    requireSameOrigin(c, deps.config.PLATFORM_BASE_URL)
    if (!isSame(c.req.header(CSRF_HEADER) ?? '', session.csrfToken)) {
      throw new AppError(
        'csrf_failed',
        'Send the CSRF token of your session in the header X-CSRF-Token, or use a token of ' +
          'your organization.',
      )
    }
  }
  const { id, organizationId } = session.user
  c.set('actor', actorOf(c, deps, toIdentity(session.user)))
  Object.assign(c.var.wide, { auth: 'session', user_id: id, organization_id: organizationId })
  return { organizationId, internal: false, tokenId: null, userId: id }
}

/** Throttles bad tokens; a call without one is no guess. */
function refuse(c: Context<OrganizationCall>, { badTokens }: WebDeps, challenge: string): AppError {
  const error = new AppError(
    'invalid_token',
    'Send exactly one Authorization header with a token that is good for your whole organization.',
    { headers: { 'www-authenticate': challenge } },
  )
  const isAbsent = c.req.header('authorization') === undefined
  return isAbsent ? error : badTokens.answer(c, error, 'organization')
}

/** What says which resources files keep: `apply --prune` deletes no others. */
const MANAGED = '/designer/v2/managed/'
/** The receipts of the audit are for those who may read it; no token for reading alone may. */
const AUDIT = '/designer/v2/audit/'
/** Files name automations by their slugs: a token that keeps settings in files reads the list. */
const PARENTS = '/designer/v2/automations'

const SCOPED = NOUNS.flatMap((noun) => noun.read(scopedPathsOf))

/** Returns the scopes of which a token of an organization needs one for a call. */
export function scopesFor(method: string, path: string): readonly TokenScope[] {
  const isRead = READS.has(method)
  if (path.startsWith('/tools/')) return isRead ? ['read', 'upload'] : ['upload']
  if (path.startsWith(AUDIT)) return ['settings']
  const found = SCOPED.flatMap(([pattern, scopes]) => (pattern.test(path) ? scopes : []))
  const other = path.startsWith(MANAGED) ? 'settings' : 'design'
  const [scope = other, ...others] = found.length > 0 ? found : ([other, 'read'] as const)
  const more = path === PARENTS ? (['settings'] as const) : []
  if (isRead) return [...new Set<TokenScope>([...others, scope, ...more])]
  return path.endsWith('/executions') ? ['kickoff'] : [scope]
}

/** Builds the refusal of a token that is known, to its bearer. */
function refusedToken(refusal: TokenRefusal, scopes: readonly TokenScope[]): AppError {
  const details = { reason: refusal }
  switch (refusal) {
    case 'token_expired':
      return new AppError('invalid_token', 'The token has expired. Issue another one.', { details })
    case 'address_not_allowed':
      return new AppError('invalid_token', 'The token may not be used from this address.', {
        details,
      })
    case 'insufficient_scope':
      return new AppError(
        'insufficient_scope',
        `The token lacks the scope ${scopes.join(' or ')}. Issue one that has it.`,
        { details },
      )
  }
}
