import type { Context, MiddlewareHandler } from 'hono'
import { findCallableAutomation } from '../../platform/automation-oauth.ts'
import type { CallableAutomation } from '../../platform/automation-oauth.ts'
import { isUuid } from '../../platform/deployments.ts'
import { AppError } from '../../shared/errors.ts'
import { singleHeader } from '../../shared/single-header.ts'
import type { AuthorizedCall, WebDeps } from '../context.ts'
import { TOKEN_LENGTH_MAX } from './access-token/parse-token.ts'
import { createChallenges } from './challenge.ts'
import { clientAddress } from './client-address.ts'
import { createFailureThrottle } from './failure-throttle.ts'

export type BearerResult =
  | {
      readonly ok: true
      /** The machine that calls, for the log. */ readonly client?: string | undefined
    }
  | {
      readonly ok: false
      /** For the log; the caller is told it only if it is a `DisclosedReason`. */ readonly reason: string
      readonly client?: string | undefined
    }

/** One kind of bearer token. */
export interface BearerScheme {
  readonly name: string
  /** By shape alone. The first scheme that recognizes a token decides; the kinds never fall through. */
  readonly recognizes: (token: string) => boolean
  /** Without an automation it refuses. */
  readonly verify: (
    token: string,
    callable: CallableAutomation | undefined,
  ) => Promise<BearerResult>
}

/** RFC 6750 §2.1. The length is looked at apart: to count while matching would take twice as long. */
const CREDENTIALS = /^Bearer +(([\w.~+/-]+)=*)$/i
const FAILURES = { burst: 60, perSecond: 1, subjectsMax: 10_000 }

/**
 * Lets a call pass that has exactly one Authorization header with a token for the automation of its path (SPEC 5.2).
 * Everything else is refused, and an automation that does not exist answers as one that this token may not call does:
 * nobody learns which automations there are. Many failures from one address are answered with 429. Reads no body.
 */
export function requireBearer(
  { sql, config, authMetrics }: WebDeps,
  schemes: readonly BearerScheme[],
): MiddlewareHandler<AuthorizedCall> {
  const challenges = createChallenges(config.PLATFORM_BASE_URL)
  const throttle = createFailureThrottle({ ...FAILURES, now: Date.now })

  function refuse(c: Context<AuthorizedCall>, error: AppError): AppError {
    if (error.status >= 500) return error
    const id = c.req.param('automationId') ?? ''
    const address = clientAddress(c, config.TRUSTED_PROXIES)
    const seconds = throttle.fail(`${address} ${isUuid(id) ? id.toLowerCase() : ''}`)
    return seconds > 0 ? tooManyFailures(seconds) : error
  }

  /** Leaves the decision in the log and in the metrics. */
  function record(c: Context<AuthorizedCall>, { scheme, callable, result }: Decision): void {
    const { automationId, organizationId } = callable?.automation ?? {}
    authMetrics?.decided(scheme, result.ok ? 'accepted' : result.reason)
    const wide = c.get('wide')
    wide['auth'] = scheme
    wide['automation_id'] = automationId
    wide['organization_id'] = organizationId
    wide['client'] = result.client
    if (!result.ok) wide['auth_refused'] = result.reason
  }

  return async function authenticate(c, next) {
    const token = readToken(c)
    if (token === undefined) {
      record(c, { scheme: 'none', callable: undefined, result: NO_CREDENTIALS })
      throw challenges.noCredentials()
    }
    const callable = await findCallableAutomation(sql, c.req.param('automationId') ?? '')
    const scheme = schemes.find(({ recognizes }) => recognizes(token)) ?? UNSUPPORTED
    const result = await scheme.verify(token, callable)
    record(c, { scheme: scheme.name, callable, result })
    if (!result.ok) throw refuse(c, challenges.refused(result.reason, callable?.oauth?.scope))
    if (!callable) throw new AppError('internal', 'A bearer scheme accepted a token for nothing.')
    c.set('automation', callable.automation)
    await next()
  }
}

interface Decision {
  readonly scheme: string
  readonly callable: CallableAutomation | undefined
  readonly result: BearerResult
}

const NO_CREDENTIALS: BearerResult = { ok: false, reason: 'no_credentials' }

/** What no scheme recognizes. */
const UNSUPPORTED: BearerScheme = {
  name: 'none',
  recognizes: () => true,
  verify: async () => ({ ok: false, reason: 'unsupported_token_kind' }),
}

function readToken(c: Context<AuthorizedCall>): string | undefined {
  const header = singleHeader(c, 'authorization')
  if (header === undefined) return undefined
  const [, token, text = ''] = CREDENTIALS.exec(header) ?? []
  return text.length <= TOKEN_LENGTH_MAX ? token : undefined
}

function tooManyFailures(seconds: number): AppError {
  return new AppError(
    'rate_limited',
    `Too many calls with bad tokens came from this address. Try again in ${seconds} s, with a good one.`,
    { headers: { 'retry-after': String(seconds) } },
  )
}
