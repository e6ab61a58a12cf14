import { claimOf, show, showClaims } from './rule.ts'
import type { Dates, Facts, ReadClaims, Reason, Rule } from './rule.ts'

/**
 * Claims that only ID tokens have (OpenID Connect Core §2, §3.3.2.11): they bind a token to a
 * browser's sign-in, and a client that calls an API has none.
 */
const ID_TOKEN_CLAIMS = ['nonce', 'at_hash', 'c_hash', 's_hash'] as const
const KIND_CLAIMS = [...ID_TOKEN_CLAIMS, 'typ', 'token_use'] as const
const DATE_CLAIMS = ['iat', 'nbf', 'exp'] as const

/** The rules for the claims of a well-signed token, whoever its client is. */
export const claimRules: readonly Rule[] = [
  {
    name: 'Issuer',
    check: ({ claims, policy }) =>
      claimOf(claims, 'iss') === policy.issuer ? undefined : 'wrong_issuer',
    seen: ({ claims }) => show(claimOf(claims, 'iss')),
    expected: ({ policy }) => show(policy.issuer),
  },
  {
    name: 'Audience',
    check: ({ claims, audiences, policy }) => {
      const isGood = Object.hasOwn(claims, 'aud')
        ? audiences.some((each) => policy.audiences.includes(each))
        : policy.absentAudienceAllowed
      return isGood ? undefined : 'wrong_audience'
    },
    seen: ({ claims }) => show(claimOf(claims, 'aud')),
    expected: ({ policy: { audiences, absentAudienceAllowed } }) =>
      `one of ${audiences.map(show).join(', ')}${absentAudienceAllowed ? ', or absent' : ''}`,
  },
  {
    name: 'Dates are numbers',
    check: ({ dates }) => (dates ? undefined : 'malformed_date'),
    seen: ({ claims }) => showClaims(claims, DATE_CLAIMS),
    expected: () => 'iat and exp, in seconds since 1970',
  },
  {
    name: 'Not expired',
    check: withDates(({ exp }, { nowSeconds, policy }) =>
      exp + policy.skewSeconds <= nowSeconds ? 'token_expired' : undefined,
    ),
    seen: ({ claims }) => show(claimOf(claims, 'exp')),
    expected: ({ nowSeconds, policy }) =>
      `exp above ${Math.floor(nowSeconds) - policy.skewSeconds}`,
  },
  {
    name: 'Valid already',
    check: withDates(({ iat, nbf }, { nowSeconds, policy }) =>
      Math.max(iat, nbf) > nowSeconds + policy.skewSeconds ? 'token_not_yet_valid' : undefined,
    ),
    seen: ({ claims }) => showClaims(claims, ['iat', 'nbf']),
    expected: ({ nowSeconds, policy }) => `at most ${Math.floor(nowSeconds) + policy.skewSeconds}`,
  },
  {
    name: 'Lifetime',
    check: withDates(({ iat, exp }, { policy }) =>
      exp <= iat || exp - iat > policy.lifetimeSecondsMax ? 'lifetime_too_long' : undefined,
    ),
    seen: ({ dates }) => (dates ? `${dates.exp - dates.iat} s` : 'unknown'),
    expected: ({ policy }) => `1 to ${policy.lifetimeSecondsMax} s from iat to exp`,
  },
  {
    name: 'An access token, not an ID token',
    check: (facts) => (isOtherToken(facts) ? 'id_token' : undefined),
    seen: ({ claims }) => showClaims(claims, KIND_CLAIMS),
    expected: () => 'no nonce or hash claims; not typ ID or token_use id; aud is not the client',
  },
  {
    name: 'A plain bearer token',
    check: ({ claims }) => (Object.hasOwn(claims, 'cnf') ? 'sender_constrained' : undefined),
    seen: ({ claims }) => showClaims(claims, ['cnf']),
    expected: () => 'no cnf: proof of possession (DPoP, mTLS) is not checked here',
  },
]

/**
 * Adapts a check of dates. Dates that cannot be read fail an earlier rule; here they fail again,
 * and never pass.
 */
function withDates(check: (dates: Dates, facts: Facts) => Reason | undefined): Rule['check'] {
  return (facts) => (facts.dates ? check(facts.dates, facts) : 'malformed_date')
}

/**
 * Recognizes tokens that were not issued for an API. Keycloak names the kind in `typ`, Cognito in
 * `token_use`, and the audience of an ID token is the client itself.
 */
function isOtherToken({ claims, client, audiences }: ReadClaims): boolean {
  const type = claimOf(claims, 'typ')
  const use = claimOf(claims, 'token_use')
  return (
    ID_TOKEN_CLAIMS.some((name) => Object.hasOwn(claims, name)) ||
    (type !== undefined && !(typeof type === 'string' && type.toLowerCase() === 'bearer')) ||
    (use !== undefined && use !== 'access') ||
    (client.ok && audiences.length > 0 && audiences.every((each) => each === client.id))
  )
}
