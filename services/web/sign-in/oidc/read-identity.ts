import type { ClaimedMembership } from '../../../platform/people/claimed-memberships.ts'
import type { Identity } from '../../../platform/people/identities.ts'
import { readOrganizationRole } from '../../../platform/people/memberships.ts'
import { isObject } from '../../../shared/is-object.ts'
import type { WebConfig } from '../../env.ts'
import type { Claims, Vouched } from './provider.ts'
import { signInError } from './sign-in-errors.ts'

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
export function readIdentity({ issuer, subject, claims }: Vouched, rules: Rules): Identity {
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
