import { createHash } from 'node:crypto'
import type { JWK } from 'jose'
import { ALGORITHMS } from '../../../platform/automations/automation-oauth.ts'
import type { Algorithm, TokenPolicy } from '../../../platform/automations/automation-oauth.ts'
import { headerRules } from './header-rules.ts'
import { parseToken } from './parse-token.ts'
import { claimOf, firstRefusal } from './rule.ts'
import type { Reason } from './rule.ts'
import type { SignatureCheck } from './signature-check.ts'
import { fits } from './vet-keys.ts'

/** An odd number of 2048 bits: checking a signature with it takes the usual time. */
function modulus(): string {
  const parts = Array.from({ length: 8 }, (_, part) =>
    createHash('sha256').update(`decoy ${part}`).digest(),
  )
  const bytes = Buffer.concat(parts)
  bytes[0] = (bytes[0] ?? 0) | 0x80
  bytes[255] = (bytes[255] ?? 0) | 1
  return bytes.toString('base64url')
}

/**
 * Public keys that open nothing. The elliptic ones are the base points of their curves (SEC 2,
 * RFC 8032).
 */
const KEYS: readonly JWK[] = [
  { kty: 'RSA', n: modulus(), e: 'AQAB' },
  {
    kty: 'EC',
    crv: 'P-256',
    x: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY',
    y: 'T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
  },
  {
    kty: 'OKP',
    crv: 'Ed25519',
    x: Buffer.from(`58${'66'.repeat(31)}`, 'hex').toString('base64url'),
  },
]

const policy: TokenPolicy = {
  issuer: 'https://decoy.invalid',
  audiences: [],
  absentAudienceAllowed: false,
  scope: '',
  scopeClaim: 'scope',
  algorithms: ALGORITHMS,
  skewSeconds: 0,
  lifetimeSecondsMax: 0,
}

/** Work that makes a refusal without a key, or without an automation, take as long as any other. */
export interface Decoy {
  /** Checks a signature that cannot be good. */
  spend(token: string, algorithm: Algorithm): Promise<void>
  /**
   * Refuses a token for which there is no automation, with the work that a refusal by an automation
   * takes: the time tells nobody which automations exist. Returns the reason as far as it can be
   * found without keys.
   */
  readonly refuse: (token: string) => Promise<Reason>
}

/** Creates a decoy that checks its signatures with `isSignedBy`. */
export function createDecoy(isSignedBy: SignatureCheck): Decoy {
  async function spend(token: string, algorithm: Algorithm): Promise<void> {
    const key = KEYS.find((each) => fits(each, algorithm))
    if (key) await isSignedBy(token, key, algorithm)
  }

  async function refuse(token: string): Promise<Reason> {
    const read = parseToken(token)
    if (!read.ok) return read.reason
    const facts = { ...read.parsed, policy, boundClient: null, nowSeconds: 0 }
    const refusal = firstRefusal(headerRules, facts)
    if (refusal) return refusal
    const { header } = read.parsed
    const algorithm = ALGORITHMS.find((each) => each === claimOf(header, 'alg'))
    if (algorithm) await spend(token, algorithm)
    return 'bad_signature'
  }

  return { spend, refuse }
}
