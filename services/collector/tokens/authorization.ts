import { bearerToken } from '../../shared/http/bearer-token.ts'
import {
  MAX_REVOCABLE_SECONDS,
  MAX_TOKEN_SECONDS,
  verifyCollectorToken,
} from '../../shared/collector-token.ts'
import type { CollectorScope, CollectorToken } from '../../shared/collector-token.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Grant } from './grant.ts'
import { createKnownTokens } from './known-tokens.ts'
import type { KnownToken } from './known-tokens.ts'
import type { Revocations } from './revocations.ts'

/** The reason why a request is not accepted: for the metrics. */
export type AuthFailure =
  | 'missing'
  | 'repeated'
  | 'malformed'
  | 'expired'
  | 'lifetime_too_long'
  | 'invalid'
  | 'revoked'
  // Of a good token, whose bearer is told.
  | 'no_scope'
  | 'wrong_scope'

/** The grant of a request, or why it has none. */
type Authorized = { readonly grant: Grant } | { readonly failure: AuthFailure }

/** Checks the raw headers of a request that needs this scope. */
export type Authorize = (
  rawHeaders: readonly string[],
  scope: CollectorScope,
) => Promise<Authorized>

/** Checks the tokens of requests. */
export interface Authorization {
  readonly authorize: Authorize
  /**
   * How many of the long-lived tokens that were used in the last hour expire within so many
   * seconds.
   */
  readonly countExpiring: (seconds: number) => number
}

interface AuthorizationOptions {
  /** The secret, and the previous one while emitters move over. */
  readonly secrets: readonly string[]
  readonly revocations: Pick<Revocations, 'isRevoked'>
  /** True once tokens without a scope are refused. */
  readonly requireScopes: boolean
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly log: Log
}

const MAX_TOKEN_CHARS = 4096
const DAY_SECONDS = 86_400
/** For clocks that differ, as when a token is verified. */
const LEEWAY_SECONDS = 60
/** A token of the characters that RFC 6750 allows. */
const TOKEN = /^[\w.~+/-]+=*$/

/**
 * Accepts tokens signed with the shared secret (SPEC 5.4). A token that was good stays good until
 * it expires or is revoked.
 */
export function createAuthorization(options: AuthorizationOptions): Authorization {
  const { now, requireScopes } = options
  const known = createKnownTokens(options.log)
  const find = async (text: string): Promise<KnownToken | AuthFailure> => {
    const nowMs = now()
    const found = known.find(text, nowMs)
    if (found) return found
    const verified = await verify(text, options)
    if (typeof verified !== 'string') known.add(text, verified, now())
    return verified
  }
  return {
    async authorize(rawHeaders, scope) {
      const text = readToken(rawHeaders)
      if (typeof text !== 'string') return text
      const found = await find(text)
      if (typeof found === 'string') return { failure: found }
      const { grant, token } = found
      if (grant.isRevoked()) return { failure: 'revoked' }
      if (!token.scopes) return requireScopes || needsWord(scope) ? { failure: 'no_scope' } : found
      return token.scopes.has(scope) ? found : { failure: 'wrong_scope' }
    },
    countExpiring: (seconds) => known.countExpiring({ nowMs: now(), seconds }),
  }
}

/** What no token allows unless it says so. */
const needsWord = (scope: CollectorScope): boolean =>
  scope !== 'traces:write' && scope !== 'traces:read'

/**
 * From the raw headers: the parsed ones keep only the first of two, and would hide a second from
 * us.
 */
function readToken(rawHeaders: readonly string[]): string | { failure: AuthFailure } {
  const values = rawHeaders.filter(
    (_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'authorization',
  )
  const [value] = values
  if (value === undefined) return { failure: 'missing' }
  if (values.length > 1) return { failure: 'repeated' }
  const token = value.length <= MAX_TOKEN_CHARS ? bearerToken(value) : undefined
  return token !== undefined && TOKEN.test(token) ? token : { failure: 'malformed' }
}

async function verify(
  text: string,
  options: AuthorizationOptions,
): Promise<KnownToken | AuthFailure> {
  const { secrets, now } = options
  let failure: AuthFailure = 'invalid'
  for (const secret of secrets) {
    try {
      return checkLifetime(await verifyCollectorToken(text, secret, now()), options)
    } catch (thrown) {
      if (toError(thrown).name === 'JWTExpired') failure = 'expired'
    }
  }
  return failure
}

/** A token without the time of its issue counts as issued now. */
function checkLifetime(
  token: CollectorToken,
  { now, revocations }: AuthorizationOptions,
): KnownToken | AuthFailure {
  const issuedAt = Math.min(token.issuedAt ?? Infinity, now() / 1000)
  const seconds = token.expiresAt - issuedAt
  const { id, organization, issuer, expiresAt } = token
  const maxSeconds = id === undefined ? MAX_TOKEN_SECONDS : MAX_REVOCABLE_SECONDS
  if (seconds > maxSeconds + LEEWAY_SECONDS) return 'lifetime_too_long'
  const isRevoked = (): boolean => id !== undefined && revocations.isRevoked(id)
  const isExpired = (): boolean => now() >= expiresAt * 1000
  const grant = { organization, issuer, tokenId: id, isRevoked, isExpired }
  return { token, grant, isLongLived: seconds > DAY_SECONDS }
}
