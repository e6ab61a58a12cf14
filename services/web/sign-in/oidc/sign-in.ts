import { recognizeIdentity, useSignIn } from '../../../platform/people/identities.ts'
import type { KnownIdentity, SignInRequest, Identity } from '../../../platform/people/identities.ts'
import {
  createSession,
  deleteExpiredSessions,
  deleteSession,
  storeIdToken,
} from '../../../platform/people/sessions.ts'
import type { SessionOrigin } from '../../../platform/people/sessions.ts'
import type { ClaimedMembership } from '../../../platform/people/claimed-memberships.ts'
import { readOrganizationRole } from '../../../platform/people/memberships.ts'
import { isObject } from '../../../shared/is-object.ts'
import type { WebDeps } from '../../context.ts'
import { isSame } from '../../gate/callers/forms.ts'
import type { WebConfig } from '../../env.ts'
import { ATTEMPT_SECONDS, sealIdToken } from './attempt.ts'
import type { Attempt } from './attempt.ts'
import { callbackUrl } from './provider.ts'
import type { IdentityProvider, Claims, Vouched } from './provider.ts'
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

const NAME_CHARACTERS_MAX = 200
const EMAIL_CHARACTERS_MAX = 254
/** OpenID Connect Core §2: at most 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/

type Rules = Pick<
  WebConfig,
  | 'OIDC_ADMIN_CLAIM'
  | 'OIDC_ADMIN_VALUE'
  | 'OIDC_GROUPS_CLAIM'
  | 'OIDC_GROUPS'
  | 'OIDC_DEFAULT_ROLE'
>

/** Reads what the platform keeps of a person. Raises `invalid_request` for an unusable subject. */
function readIdentity({ issuer, subject, claims }: Vouched, rules: Rules): Identity {
  if (!SUBJECT.test(subject)) {
    const message = 'The identity provider names you in a way that cannot be used (sub).'
    throw signInError(['invalid_request', 'bad_subject'], message)
  }
  const email = readEmail(claims['email'])
  const names = [claims['name'], claims['preferred_username'], email, subject]
  const name = names.map(readName).find((each) => each !== '') ?? subject
  const roles = isAdmin(claims, rules) ? (['platform-admin'] as const) : []
  const memberships = membershipsOf(claims, rules)
  const joinsAs = memberships.length > 0 ? undefined : readOrganizationRole(rules.OIDC_DEFAULT_ROLE)
  return { issuer, subject, email, name, roles, memberships, joinsAs }
}

/** Returns the memberships of the groups that the configured claim is, or holds, to the letter. */
function membershipsOf(
  claims: Claims,
  { OIDC_GROUPS_CLAIM: path, OIDC_GROUPS: rules = [] }: Rules,
): ClaimedMembership[] {
  if (path === undefined) return []
  const claim = claimAt(claims, path)
  const groups: readonly unknown[] = Array.isArray(claim) ? claim : [claim]
  return rules.filter(({ group }) => groups.includes(group))
}

/** Returns true if the configured claim is the value, or a list that holds it, to the letter. */
function isAdmin(
  claims: Claims,
  { OIDC_ADMIN_CLAIM: path, OIDC_ADMIN_VALUE: value }: Rules,
): boolean {
  if (path === undefined || value === undefined) return false
  const claim = claimAt(claims, path)
  return claim === value || (Array.isArray(claim) && claim.includes(value))
}

/** The claim of that very name, which may have dots itself, or the one at the end of the path. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  return path
    .split('.')
    .reduce<unknown>(
      (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
      claims,
    )
}

function readEmail(claim: unknown): string | null {
  if (typeof claim !== 'string' || claim.length > EMAIL_CHARACTERS_MAX) return null
  const email = claim.trim().toLowerCase()
  return /^[^@\s\0]+@[^@\s\0]+$/.test(email) ? email : null
}

function readName(claim: unknown): string {
  if (typeof claim !== 'string') return ''
  // PostgreSQL has no text with NUL in it, and a name has no other of its kind either.
  return claim.replaceAll(/\p{C}/gu, ' ').trim().slice(0, NAME_CHARACTERS_MAX)
}
