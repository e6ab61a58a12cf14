import type { Context, MiddlewareHandler } from 'hono'
import { findCallableAutomation } from '../../../platform/automations/automation-oauth.ts'
import type { CallableAutomation } from '../../../platform/automations/automation-oauth.ts'
import { isUuid } from '../../../platform/automations/automations.ts'
import { bearerToken } from '../../../shared/http/bearer-token.ts'
import { AppError } from '../../../shared/errors.ts'
import { singleHeader } from '../../../shared/http/single-header.ts'
import { actorOf } from '../../gate/callers/actor.ts'
import type { CallerIdentity } from '../../gate/callers/actor.ts'
import { limitCall } from '../../gate/callers/call-limits.ts'
import { exactAddress } from '../../gate/callers/client-address.ts'
import type { AuthorizedCall, WebDeps } from '../../context.ts'
import { TOKEN_LENGTH_MAX } from '../../gate/access-token/parse-token.ts'
import { createChallenges, isDisclosed } from './challenge.ts'

/** The decision of a scheme about a token. */
type BearerResult = (
  | {
      readonly ok: true
      /** The token or the client that calls, as the audit names it. */
      readonly by: Omit<CallerIdentity, 'organizationId'>
    }
  | {
      readonly ok: false
      /** For the log; the caller learns it only if it is a `DisclosedReason`. */
      readonly reason: string
      /** What the token would have to be for. @default what the identity provider gives */
      readonly scope?: string
    }
) & {
  /** The machine that calls, for the log. */
  readonly client?: string | undefined
}

/** One kind of bearer token. */
export interface BearerScheme {
  readonly name: string
  /**
   * Recognizes a token by its shape alone. The first scheme that does decides; the kinds never fall
   * through.
   */
  readonly recognizes: (token: string) => boolean
  /** Decides about a token. Refuses it if there is no automation. */
  readonly verify: (
    token: string,
    callable: CallableAutomation | undefined,
    /** Where the call comes from; undefined where that is not known. */
    address: string | undefined,
  ) => Promise<BearerResult>
}

/**
 * A token by RFC 6750 §2.1, and its part before the padding. Its length is checked apart: to count
 * while matching would take twice as long.
 */
const TOKEN = /^([\w.~+/-]+)=*$/

/**
 * Lets a call pass that has exactly one Authorization header with a token for the automation of its
 * path (SPEC 5.2), and puts that automation into the context. Refuses everything else, and an
 * automation that does not exist like one that this token may not call: nobody learns which ones
 * exist. Raises `invalid_token`, `insufficient_scope`, `unavailable` while the identity provider
 * cannot be reached, and `rate_limited` after many unknown tokens from one address, or many calls.
 * Reads no body.
 *
 * @example
 * const authenticate = requireBearer(deps, [staticBearer(sql), oauthBearer({ sql, gate, now })])
 * routes.use('/crew/:automationId/kickoff', authenticate)
 * routes.post('/crew/:automationId/kickoff', (c) => c.json({ id: c.var.automation.id }))
 */
export function requireBearer(
  deps: WebDeps,
  schemes: readonly BearerScheme[],
): MiddlewareHandler<AuthorizedCall> {
  const { sql, config, authMetrics, badTokens, calls } = deps
  const challenges = createChallenges(config.PLATFORM_BASE_URL)

  /** Never throttles a token that the identity provider signed: that is no guess. */
  function refuse(c: Context<AuthorizedCall>, reason: string, scope?: string): AppError {
    const error = challenges.refused(reason, scope)
    if (isDisclosed(reason)) return error
    const id = c.req.param('automationId') ?? ''
    return badTokens.answer(c, error, isUuid(id) ? id.toLowerCase() : '')
  }

  /** Writes the decision to the log and the metrics. */
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
    const address = exactAddress(c, config.TRUSTED_PROXIES)
    const result = await scheme.verify(token, callable, address)
    record(c, { scheme: scheme.name, callable, result })
    if (!result.ok) throw refuse(c, result.reason, result.scope ?? callable?.oauth?.scope)
    if (!callable) throw new AppError('internal', 'A bearer scheme accepted a token for nothing.')
    const { automation } = callable
    const { organizationId } = automation
    c.set('automation', automation)
    c.set('actor', actorOf(c, deps, { ...result.by, organizationId }))
    await limitCall(c, calls, next)
  }
}

interface Decision {
  readonly scheme: string
  readonly callable: CallableAutomation | undefined
  readonly result: BearerResult
}

const NO_CREDENTIALS: BearerResult = { ok: false, reason: 'no_credentials' }

/** The scheme of tokens that no other recognizes. */
const UNSUPPORTED: BearerScheme = {
  name: 'none',
  recognizes: () => true,
  verify: async () => ({ ok: false, reason: 'unsupported_token_kind' }),
}

function readToken(c: Context<AuthorizedCall>): string | undefined {
  const token = bearerToken(singleHeader(c, 'authorization') ?? '') ?? ''
  const [, text] = TOKEN.exec(token) ?? []
  return text !== undefined && text.length <= TOKEN_LENGTH_MAX ? token : undefined
}
