import { Hono } from 'hono'
import type { Context, MiddlewareHandler } from 'hono'
import { AppError } from '../shared/errors.ts'
import { healthRoutes } from '../shared/http/health.ts'
import { requestLog } from '../shared/log.ts'
import { findConnection } from '../platform/connections/oauth-connections.ts'
import { findTokenHolder } from '../platform/connections/oauth-tokens.ts'
import type { TokenHolder } from '../platform/connections/oauth-tokens.ts'
import { createTokenDesk } from './access-token.ts'
import type { AccessToken, GetAccessToken } from './access-token.ts'
import type { OauthApp, OauthDeps } from './context.ts'
import type { Identity } from './identity.ts'
import { callbackRoutes } from './routes/callback.ts'
import { connectionRoutes } from './routes/connections.ts'
import { answerError } from './routes/errors.ts'
import { identityRoutes } from './routes/identity.ts'
import { ownConnectionRoutes } from './routes/own-connections.ts'
import { tokenRoutes } from './routes/token.ts'
import { PAGE_POLICY } from './views/callback-page.ts'
import { createHash, timingSafeEqual } from 'node:crypto'
import { bearerToken } from '../shared/http/bearer-token.ts'
import { singleHeader } from '../shared/http/single-header.ts'
import * as v from 'valibot'
import type { Actor } from '../platform/audit/audit.ts'
import { ACTOR_HEADER } from '../shared/oauth-service.ts'

/** Well under Node's limit for all headers. */
const KEY_LENGTH_MAX = 4096

const REALM = 'Bearer realm="oauth"'

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The paths that only the other services of the platform may call. */
const KEYED = [
  '/providers',
  '/connections',
  '/connections/*',
  '/organizations/*',
  '/authorizations',
]

const HEADERS = Object.entries({
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // The address of a callback holds a code.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
})

const securityHeaders: MiddlewareHandler = async function addSecurityHeaders(c, next) {
  await next()
  const { headers } = c.res
  for (const [name, value] of HEADERS) if (!headers.has(name)) headers.set(name, value)
}

interface AppDeps extends OauthDeps {
  /** Signs who the runs are. */
  readonly identity: Identity
}

/** The OAuth service: the API with a key, the callback for browsers, health, the keys of runs. */
export function createApp(deps: AppDeps): Hono<OauthApp> {
  const app = new Hono<OauthApp>()
  app.use(requestLog(deps.log))
  app.use(securityHeaders)
  app.onError(answerError(deps))
  app.notFound(() => {
    throw new AppError('not_found', 'There is nothing at this address.')
  })
  app.route('/', healthRoutes(deps))
  app.route('/', callbackRoutes(deps))
  app.route('/', identityRoutes(deps.identity))
  const authenticate = requireApiKey(deps.config.PLATFORM_OAUTH_API_KEY)
  for (const path of KEYED) app.use(path, authenticate, readActingFor)
  app.route('/', connectionRoutes(deps))
  const getAccessToken = createAccess(deps)
  app.route('/', tokenRoutes(getAccessToken))
  app.route('/', ownConnectionRoutes(deps, getAccessToken))
  return app
}

/** Hands out what providers issued, or signs the identity of a run, and has it exchanged. */
function createAccess(deps: AppDeps): GetAccessToken {
  const desk = createTokenDesk(deps)
  return async (connectionId, runId) => {
    const found = await findConnection(deps.sql, connectionId)
    if (found?.kind !== 'identity') return desk(connectionId)
    return exchangeIdentity(deps, found, await deps.identity.tokenOf(found, runId))
  }
}

/** Where a provider names no end, the token is asked for anew with the next identity. */
const UNNAMED_SECONDS = 600

/**
 * Exchanges the identity of a run at the token endpoint of its connection, if it has one. Raises
 * `forbidden` when the provider does not take it, `bad_gateway` and `timeout`.
 */
async function exchangeIdentity(
  { sql, providers }: AppDeps,
  { id, settings }: Pick<TokenHolder, 'id' | 'settings'>,
  identity: AccessToken,
): Promise<AccessToken> {
  const how = settings?.exchange
  if (how === undefined) return identity
  const holder = await findTokenHolder(sql, id)
  if (!holder) throw new AppError('not_found', `There is no connection ${id}.`)
  const provider = await providers.of(holder)
  const grant = await provider.exchangeJwt(identity.accessToken, how)
  const { accessToken, scope = null, expiresInSeconds = UNNAMED_SECONDS } = grant
  const expiresAt = new Date(Date.now() + expiresInSeconds * 1000)
  return { ...identity, accessToken, scope, expiresAt }
}

/**
 * Lets a call pass that has exactly one Authorization header, with the API key. The time reveals
 * nothing of the key.
 */
function requireApiKey(key: string): MiddlewareHandler<OauthApp> {
  const expected = digestOf(key)
  return async function authenticate(c, next) {
    const given = bearerToken(singleHeader(c, 'authorization') ?? '')
    const key = given !== undefined && given.length <= KEY_LENGTH_MAX ? given : undefined
    const isEqual = timingSafeEqual(digestOf(key ?? ''), expected)
    if (key === undefined || !isEqual) throw refuse(key !== undefined)
    await next()
  }
}

function refuse(hasKey: boolean): AppError {
  const message = hasKey
    ? 'The API key is not the one of this service: compare PLATFORM_OAUTH_API_KEY on both sides.'
    : 'Send exactly one header of the form `Authorization: Bearer <PLATFORM_OAUTH_API_KEY>`.'
  const challenge = hasKey ? `${REALM}, error="invalid_token"` : REALM
  return new AppError('invalid_token', message, { headers: { 'www-authenticate': challenge } })
}

const actorSchema = v.object({
  kind: v.picklist(['person', 'token', 'client']),
  id: v.nullable(v.string()),
  name: v.pipe(v.string(), v.minLength(1)),
  organizationId: v.nullable(v.pipe(v.number(), v.integer())),
  address: v.optional(v.string()),
  requestId: v.optional(v.string()),
})

/** Whoever has the key of the service and names nobody: a program of the operator. */
const PROGRAM: Actor = {
  kind: 'operator',
  id: null,
  name: 'a program with the key of the OAuth service',
  organizationId: null,
}

/**
 * Reads for whom a service of the platform calls, so that the audit names that person. Raises
 * `invalid_request` for a header that cannot be read.
 */
const readActingFor: MiddlewareHandler<OauthApp> = async function setActor(c, next) {
  c.set('actor', { requestId: c.var.requestId, ...readActor(c) })
  await next()
}

function readActor(c: Context<OauthApp>): Actor {
  const given = c.req.header(ACTOR_HEADER)
  if (given === undefined) return PROGRAM
  const read = v.safeParse(actorSchema, parse(Buffer.from(given, 'base64url').toString('utf8')))
  if (read.success) return read.output
  throw new AppError('invalid_request', `The header ${ACTOR_HEADER} cannot be read.`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
