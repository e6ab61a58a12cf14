import { claimOf, show, showClaims } from './rule.ts'
import type { Rule } from './rule.ts'

const TYPES = ['jwt', 'at+jwt', 'application/at+jwt']
const KEY_HEADERS = ['jku', 'x5u', 'x5c', 'jwk'] as const
const EXTENSION_HEADERS = ['crit', 'b64', 'zip', 'enc', 'cty'] as const
const KEY_ID_LENGTH_MAX = 256

/**
 * The rules for the header, before a key is looked for. Whoever forges a token writes its header,
 * so that a key or an address in it proves nothing (RFC 8725 §3.10).
 */
export const headerRules: readonly Rule[] = [
  {
    name: 'Algorithm',
    check({ header, policy }) {
      const algorithm = claimOf(header, 'alg')
      const allowed = policy.algorithms.some((each) => each === algorithm)
      return allowed ? undefined : 'algorithm_not_allowed'
    },
    seen: ({ header }) => show(claimOf(header, 'alg')),
    expected: ({ policy }) => `one of ${policy.algorithms.join(', ')}`,
  },
  {
    name: 'Token type',
    check({ header }) {
      const type = claimOf(header, 'typ')
      if (type === undefined) return undefined
      return typeof type === 'string' && TYPES.includes(type.toLowerCase())
        ? undefined
        : 'wrong_type'
    },
    seen: ({ header }) => show(claimOf(header, 'typ')),
    expected: () => 'absent, JWT or at+jwt',
  },
  {
    name: 'Keys in the header',
    check: ({ header }) =>
      KEY_HEADERS.some((name) => Object.hasOwn(header, name)) ? 'untrusted_key_header' : undefined,
    seen: ({ header }) => showClaims(header, KEY_HEADERS),
    expected: () => `none of ${KEY_HEADERS.join(', ')}`,
  },
  {
    name: 'Extensions',
    check: ({ header }) =>
      EXTENSION_HEADERS.some((name) => Object.hasOwn(header, name))
        ? 'unsupported_extension'
        : undefined,
    seen: ({ header }) => showClaims(header, EXTENSION_HEADERS),
    expected: () => `none of ${EXTENSION_HEADERS.join(', ')}`,
  },
  {
    name: 'Key id',
    check({ header }) {
      const kid = claimOf(header, 'kid')
      if (kid === undefined) return undefined
      return typeof kid === 'string' && kid !== '' && kid.length <= KEY_ID_LENGTH_MAX
        ? undefined
        : 'malformed_key_id'
    },
    seen: ({ header }) => show(claimOf(header, 'kid')),
    expected: () => `a text of at most ${KEY_ID_LENGTH_MAX} characters`,
  },
]
