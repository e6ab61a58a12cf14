import { verifyCollectorToken } from '../shared/collector-token.ts'
import { toError } from '../shared/errors.ts'

/** Why a submission is not accepted: for the metrics, never for the sender. */
export type AuthFailure = 'missing' | 'repeated' | 'malformed' | 'expired' | 'invalid'

/** Checks the raw headers of a request; answers nothing when its token is good. */
export type Authorize = (rawHeaders: readonly string[]) => Promise<AuthFailure | undefined>

export interface AuthorizationOptions {
  /** The secret, and the previous one while emitters move over. */
  readonly secrets: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: () => number
}

const REMEMBERED_MAX = 1024
const MAX_TOKEN_CHARS = 4096
/** The scheme and a token of the characters that RFC 6750 allows. */
const BEARER = /^bearer +([\w.~+/-]+=*)$/i

/** Accepts tokens signed with the shared secret (SPEC 5.4). A token that was good stays good until it expires. */
export function createAuthorization({ secrets, now }: AuthorizationOptions): Authorize {
  /** Expiry by token, in seconds since 1970; the one used longest ago first. */
  const verified = new Map<string, number>()
  return async (rawHeaders) => {
    const token = readToken(rawHeaders)
    if (typeof token !== 'string') return token.failure
    const expiry = verified.get(token)
    verified.delete(token)
    if (expiry !== undefined && now() < expiry * 1000) {
      verified.set(token, expiry)
      return undefined
    }
    const outcome = await verify(token, secrets)
    if (typeof outcome !== 'number') return outcome
    verified.set(token, outcome)
    forgetOldest(verified)
    return undefined
  }
}

/** From the raw headers: the parsed ones keep only the first of two, and would hide a second from us. */
function readToken(rawHeaders: readonly string[]): string | { failure: AuthFailure } {
  const values = rawHeaders.filter(
    (_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'authorization',
  )
  const [value] = values
  if (value === undefined) return { failure: 'missing' }
  if (values.length > 1) return { failure: 'repeated' }
  const token = value.length <= MAX_TOKEN_CHARS ? BEARER.exec(value)?.[1] : undefined
  return token ?? { failure: 'malformed' }
}

async function verify(token: string, secrets: readonly string[]): Promise<number | AuthFailure> {
  let failure: AuthFailure = 'invalid'
  for (const secret of secrets) {
    try {
      return await verifyCollectorToken(token, secret)
    } catch (thrown) {
      if (toError(thrown).name === 'JWTExpired') failure = 'expired'
    }
  }
  return failure
}

function forgetOldest(verified: Map<string, number>): void {
  if (verified.size <= REMEMBERED_MAX) return
  const [oldest] = verified.keys()
  if (oldest !== undefined) verified.delete(oldest)
}
