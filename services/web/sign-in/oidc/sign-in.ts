import { recognizeIdentity, useSignIn } from '../../../platform/people/identities.ts'
import type { KnownIdentity, SignInRequest } from '../../../platform/people/identities.ts'
import {
  createSession,
  deleteExpiredSessions,
  deleteSession,
  storeIdToken,
} from '../../../platform/people/sessions.ts'
import type { SessionOrigin } from '../../../platform/people/sessions.ts'
import type { WebDeps } from '../../context.ts'
import { isSame } from '../../gate/callers/forms.ts'
import { ATTEMPT_SECONDS, sealIdToken } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import { callbackUrl } from './provider.ts'
import type { IdentityProvider } from './provider.ts'
import { readIdentity } from './read-identity.ts'
import { signInError } from './sign-in-errors.ts'

const QUERY_CHARACTERS_MAX = 8192

/** The return of a browser from the provider. */
interface Callback {
  /** The query that the provider sent the browser back with, with its question mark. */
  readonly search: string
  /** What this browser began; nothing when it began nothing, or too long ago. */
  readonly attempt: Attempt | undefined
  /** The token of a session that the browser still has; it ends. */
  readonly earlierToken: string | undefined
  readonly origin: SessionOrigin
  /** For the audit. */
  readonly request: SignInRequest
}

/** A completed sign-in. */
export interface OidcSignIn extends KnownIdentity {
  readonly token: string
}

/**
 * Completes a sign-in with the provider's answer, always into a new session (SPEC 5.1). Raises
 * `invalid_request` and `forbidden` for an answer that opens none, and `unavailable` while the
 * provider is unavailable.
 */
export async function completeSignIn(
  { sql, config }: WebDeps,
  provider: IdentityProvider,
  callback: Callback,
): Promise<OidcSignIn> {
  const { search, earlierToken, origin, request } = callback
  const attempt = requireOwnAnswer(callback)
  const { state } = attempt
  if (!(await useSignIn(sql, { state, lifetimeSeconds: ATTEMPT_SECONDS }))) {
    const message = 'This answer of the identity provider was already used. Start again.'
    throw signInError(['invalid_request', 'used_before'], message)
  }
  const answer = new URL(`${callbackUrl(config.PLATFORM_BASE_URL)}${search}`)
  const vouched = await provider.exchange(answer, attempt)
  const known = await recognizeIdentity(sql, readIdentity(vouched, config), request)
  if (!known) {
    const message = 'Your account is disabled on this platform. Ask its administrator.'
    throw signInError(['forbidden', 'account_disabled'], message)
  }
  if (earlierToken) await deleteSession(sql, earlierToken)
  await deleteExpiredSessions(sql)
  const token = await createSession(sql, known.userId, origin)
  await storeIdToken(sql, token, await sealIdToken(vouched.idToken, token))
  return { ...known, token }
}

/** Before anything in an answer is believed: this browser asked for it, and it is one answer. */
function requireOwnAnswer({ search, attempt }: Callback): Attempt {
  const query = new URLSearchParams(search)
  if (!attempt || !isSame(query.get('state') ?? '', attempt.state)) {
    const message =
      'This sign-in was not started in this browser, or more than ten minutes ago. Start again.'
    throw signInError(['invalid_request', 'not_begun_here'], message)
  }
  const names = [...query.keys()]
  const isOne = names.length === new Set(names).size && query.has('code') !== query.has('error')
  if (isOne && search.length <= QUERY_CHARACTERS_MAX) return attempt
  const message = 'The identity provider sent an incomplete answer. Start again.'
  throw signInError(['invalid_request', 'bad_callback'], message)
}
