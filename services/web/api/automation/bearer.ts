import type { Context, MiddlewareHandler } from 'hono'
import { isUuid } from '../../../platform/automations/automations.ts'
import { bearerToken } from '../../../shared/http/bearer-token.ts'
import type { AppError } from '../../../shared/errors.ts'
import { singleHeader } from '../../../shared/http/single-header.ts'
import { actorOf } from '../../gate/callers/actor.ts'
import type { CallerIdentity } from '../../gate/callers/actor.ts'
import { limitCall } from '../../gate/callers/call-limits.ts'
import { exactAddress } from '../../gate/callers/client-address.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { TOKEN_LENGTH_MAX } from '../../gate/access-token/parse-token.ts'
import { createChallenges, isDisclosed } from './challenge.ts'

/** The decision of a scheme about a token. */
export type BearerResult<Opened> = (
  | {
      readonly ok: true
      /** The token or the client that calls, as the audit names it. */
      readonly by: CallerIdentity
      readonly opened: Opened
    }
  | {
      readonly ok: false
      /** For the log; the caller learns it only if it is a `DisclosedReason`. */
      readonly reason: string
      /** What the token would have to be for. */
      readonly scope?: string | undefined
    }
) & {
  /** The machine that calls, for the log. */
  readonly client?: string | undefined
}

/** One kind of bearer token, for calls of a target, and what it opens. */
export interface BearerScheme<Target, Opened> {
  readonly name: string
  /**
   * Recognizes a token by its shape alone. The first scheme that does decides; the kinds never fall
   * through.
   */
  readonly recognizes: (token: string) => boolean
  /** Decides about a token. Refuses it if there is no target. */
  readonly verify: (
    token: string,
    target: Target | undefined,
    /** Where the call comes from; undefined where that is not known. */
    address: string | undefined,
  ) => Promise<BearerResult<Opened>>
}

/** What the calls of a path are for, and the tokens that open it. */
export interface Door<Target, Opened> {
  readonly schemes: readonly BearerScheme<Target, Opened>[]
  /** Finds what the path names. */
  readonly find: (c: Context) => Promise<Target | undefined>
  /** Returns what the log says of it. */
  readonly factsOf: (target: Target | undefined) => Readonly<Record<string, unknown>>
  /** The variable of the context that holds what was opened. */
  readonly variable: string
}

/**
 * A token by RFC 6750 §2.1, and its part before the padding. Its length is checked apart: to count
 * while matching would take twice as long.
 */
const TOKEN = /^([\w.~+/-]+)=*$/

/**
 * Lets a call pass that has exactly one Authorization header with a token for the target of its
 * path (SPEC 5.2), and puts what it opens into the context. Refuses everything else, and a target
 * that does not exist like one that this token may not call: nobody learns which ones exist. Raises
 * `invalid_token`, `insufficient_scope`, `unavailable` while the identity provider cannot be
 * reached, and `rate_limited` after many unknown tokens from one address, or many calls. Reads no
 * body.
 *
 * @example
 * const authenticate = requireBearer(deps, createAutomationDoors(sql, gate)('kickoff'))
 * routes.use('/crew/:automationId/kickoff', authenticate)
 * routes.post('/crew/:automationId/kickoff', (c) => c.json({ id: c.var.automation.id }))
 */
export function requireBearer<Target, Opened>(
  deps: WebDeps,
  { schemes, find, factsOf, variable }: Door<Target, Opened>,
): MiddlewareHandler {
  const { config, authMetrics, badTokens, calls } = deps
  const challenges = createChallenges(config.PLATFORM_BASE_URL)

  /** Never throttles a token that the identity provider signed: that is no guess. */
  function refuse(c: Context, reason: string, scope?: string): AppError {
    const error = challenges.refused(reason, scope)
    if (isDisclosed(reason)) return error
    const id = c.req.param('automationId') ?? ''
    return badTokens.answer(c, error, isUuid(id) ? id.toLowerCase() : '')
  }

  /** Writes the decision to the log and the metrics. */
  function record(c: Context<WebApp>, { scheme, target, result }: Decision<Target>): void {
    authMetrics?.decided(scheme, result.ok ? 'accepted' : result.reason)
    const wide = c.get('wide')
    Object.assign(wide, { auth: scheme, ...factsOf(target), client: result.client })
    if (!result.ok) wide['auth_refused'] = result.reason
  }

  return async function authenticate(c, next) {
    const token = readToken(c)
    if (token === undefined) {
      record(c, { scheme: 'none', target: undefined, result: NO_CREDENTIALS })
      throw challenges.noCredentials()
    }
    const target = await find(c)
    const scheme = schemes.find(({ recognizes }) => recognizes(token)) ?? UNSUPPORTED
    const address = exactAddress(c, config.TRUSTED_PROXIES)
    const result = await scheme.verify(token, target, address)
    record(c, { scheme: scheme.name, target, result })
    if (!result.ok) throw refuse(c, result.reason, result.scope)
    c.set(variable, result.opened)
    c.set('actor', actorOf(c, deps, result.by))
    await limitCall(c, calls, next)
  }
}

interface Decision<Target> {
  readonly scheme: string
  readonly target: Target | undefined
  readonly result: BearerResult<unknown>
}

const NO_CREDENTIALS: BearerResult<never> = { ok: false, reason: 'no_credentials' }

/** The scheme of tokens that no other recognizes. */
const UNSUPPORTED: BearerScheme<unknown, never> = {
  name: 'none',
  recognizes: () => true,
  verify: async () => ({ ok: false, reason: 'unsupported_token_kind' }),
}

function readToken(c: Context): string | undefined {
  const token = bearerToken(singleHeader(c, 'authorization') ?? '') ?? ''
  const [, text] = TOKEN.exec(token) ?? []
  return text !== undefined && text.length <= TOKEN_LENGTH_MAX ? token : undefined
}
