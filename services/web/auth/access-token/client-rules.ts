import { claimOf, show, showClaims } from './rule.ts'
import type { JsonObject, Reason, Rule } from './rule.ts'

/** Where identity providers put the client (SPEC 5.3). */
export const CLIENT_CLAIMS = ['client_id', 'cid', 'azp'] as const
const CLIENT_ID_LENGTH_MAX = 255

export type ClientClaim =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly reason: Reason }

/** The client of a token. Every claim that is there has to be good, and all have to agree: nothing is fallen back to. */
export function readClientClaim(claims: JsonObject): ClientClaim {
  const present = CLIENT_CLAIMS.filter((name) => Object.hasOwn(claims, name))
  const ids = present.map((name) => claims[name]).filter(isClientId)
  const [id] = ids
  if (present.length === 0) return { ok: false, reason: 'missing_client_claim' }
  if (id === undefined || ids.length < present.length)
    return { ok: false, reason: 'invalid_client_claim' }
  if (ids.some((each) => each !== id)) return { ok: false, reason: 'client_claim_conflict' }
  return { ok: true, id }
}

function isClientId(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= CLIENT_ID_LENGTH_MAX
}

/** Whether this client may call this automation, and with this token (SPEC 5.2, 5.3, 7). */
export const clientRules: readonly Rule[] = [
  {
    name: 'Client claim',
    check({ claims }) {
      const client = readClientClaim(claims)
      return client.ok ? undefined : client.reason
    },
    seen: ({ claims }) => showClaims(claims, CLIENT_CLAIMS),
    expected: () => `${CLIENT_CLAIMS.join(', ')}: one at least, and all the same`,
  },
  {
    name: 'The automation has a client',
    check: ({ boundClient }) => (boundClient ? undefined : 'automation_not_bound'),
    seen: ({ boundClient }) => (boundClient ? show(boundClient) : 'none'),
    expected: () => 'an OAuth Client ID under Client ID Filtering',
  },
  {
    name: 'The client of the automation',
    check({ claims, boundClient }) {
      const client = readClientClaim(claims)
      // Byte for byte: no trimming, no case folding, no normalization.
      return client.ok && client.id === boundClient ? undefined : 'client_mismatch'
    },
    seen: ({ claims }) => showClaims(claims, CLIENT_CLAIMS),
    expected: ({ boundClient }) => (boundClient ? show(boundClient) : 'nothing matches'),
  },
  {
    name: 'Scope',
    check: ({ claims, policy }) => (hasScope(claims, policy) ? undefined : 'insufficient_scope'),
    seen: ({ claims, policy }) => showClaims(claims, scopeClaims(policy)),
    expected: ({ policy }) => `${show(policy.scope)} in ${scopeClaims(policy).join(' or ')}`,
  },
]

interface ScopePolicy {
  readonly scope: string
  readonly scopeClaim: 'scope' | 'roles'
}

const scopeClaims = ({ scopeClaim }: ScopePolicy): readonly string[] =>
  scopeClaim === 'roles' ? ['roles'] : ['scope', 'scp']

/** Whole tokens only; when a token has both claims, both have to hold it. */
function hasScope(claims: JsonObject, policy: ScopePolicy): boolean {
  const present = scopeClaims(policy).filter((name) => Object.hasOwn(claims, name))
  return (
    present.length > 0 &&
    present.every((name) => scopesOf(claimOf(claims, name)).includes(policy.scope))
  )
}

function scopesOf(value: unknown): readonly unknown[] {
  if (typeof value === 'string') return value.split(' ')
  const all: readonly unknown[] = Array.isArray(value) ? value : []
  return all.every((each) => typeof each === 'string') ? all : []
}
