import { CLIENT_CLAIMS } from './read-claims.ts'
import { claimOf, show, showClaims } from './rule.ts'
import type { JsonObject, Rule } from './rule.ts'

/** The rules for a client that calls an automation with this token (SPEC 5.2, 5.3, 7). */
export const clientRules: readonly Rule[] = [
  {
    name: 'Client claim',
    check: ({ client }) => (client.ok ? undefined : client.reason),
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
    // Byte for byte: no trimming, no case folding, no normalization.
    check: ({ client, boundClient }) =>
      client.ok && client.id === boundClient ? undefined : 'client_mismatch',
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

const CLAIMS_OF = { scope: ['scope', 'scp'], roles: ['roles'] } as const

const scopeClaims = ({ scopeClaim }: ScopePolicy): readonly string[] => CLAIMS_OF[scopeClaim]

/**
 * Compares whole scopes, never parts of one. If a token has both claims, both have to hold the
 * scope: a server that writes two is not read by the one that suits the caller.
 */
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
