import type { Context, MiddlewareHandler } from 'hono'
import { findAutomation } from '../../platform/deployments.ts'
import type { Deployment } from '../../platform/deployments.ts'
import type { Database } from '../../shared/database.ts'
import { AppError } from '../../shared/errors.ts'
import { singleHeader } from '../../shared/single-header.ts'
import type { AuthorizedCall } from '../context.ts'

export type BearerResult =
  | { readonly ok: true }
  | {
      readonly ok: false
      /** For the log only. */ readonly reason: string
      readonly error: AppError
    }

/** One kind of bearer token. */
export interface BearerScheme {
  readonly name: string
  /** By shape alone. The first scheme that recognizes a token decides; the kinds never fall through. */
  readonly recognizes: (token: string) => boolean
  /** Without an automation it does the same work and refuses. */
  readonly verify: (token: string, automation: Deployment | undefined) => Promise<BearerResult>
}

/** RFC 6750 §2.1, with a bound well under Node's limit for all headers. */
const CREDENTIALS = /^Bearer +([A-Za-z0-9._~+/-]{1,8192}=*)$/i
const REALM = 'Bearer realm="platform"'

/**
 * Lets a call pass that has exactly one Authorization header with a token for the automation of its path (SPEC 5.2).
 * Everything else is 401, and an automation that does not exist answers as one that this token may not call does:
 * nobody learns which automations there are. Reads no body.
 */
export function requireBearer(
  sql: Database,
  schemes: readonly BearerScheme[],
): MiddlewareHandler<AuthorizedCall> {
  return async function authenticate(c, next) {
    const token = readToken(c)
    const automation = await findAutomation(sql, c.req.param('automationId') ?? '')
    const scheme = schemes.find(({ recognizes }) => recognizes(token))
    const result = scheme
      ? await scheme.verify(token, automation)
      : refuseToken('unsupported_token_kind')
    Object.assign(c.var.wide, { auth: scheme?.name, automation_id: automation?.automationId })
    if (!result.ok) {
      c.var.wide['auth_refused'] = result.reason
      throw result.error
    }
    if (!automation) throw new AppError('internal', 'A bearer scheme accepted a token for nothing.')
    c.set('automation', automation)
    await next()
  }
}

/** The refusal that all bad tokens share, whatever is wrong with them (RFC 6750 §3.1). */
export function refuseToken(reason: string): BearerResult {
  const error = new AppError('invalid_token', 'The token is not valid for this automation.', {
    headers: { 'www-authenticate': `${REALM}, error="invalid_token"` },
  })
  return { ok: false, reason, error }
}

function readToken(c: Context<AuthorizedCall>): string {
  const header = singleHeader(c, 'authorization')
  const token = header === undefined ? undefined : CREDENTIALS.exec(header)?.[1]
  if (token !== undefined) return token
  c.var.wide['auth_refused'] = 'no_credentials'
  throw new AppError(
    'invalid_token',
    'Send exactly one header of the form `Authorization: Bearer <token>`.',
    { headers: { 'www-authenticate': REALM } },
  )
}
