import { hash } from 'node:crypto'
import type { JWK } from 'jose'
import type { ParsedToken } from './parse-token.ts'

const TOKENS_MAX = 2000

/** A token whose signature was checked. */
interface VerifiedToken {
  readonly parsed: ParsedToken
  /** The key that the signature fits; it counts for as long as it is in the set. */
  readonly key: JWK
}

/** The entry of one token, which may be empty. */
interface TokenEntry {
  readonly known: VerifiedToken | undefined
  keep(verified: VerifiedToken): void
  drop(): void
}

/** Returns the entry of a token. */
export type VerifiedTokens = (token: string) => TokenEntry

/**
 * Remembers the signatures of the tokens that were accepted last, by SHA-256, so that a busy client
 * costs one check of a signature and not one per call. Remembers no decision: dates, client, scope
 * and settings are checked each time.
 */
export function createVerifiedTokens(max = TOKENS_MAX): VerifiedTokens {
  const tokens = new Map<string, VerifiedToken>()
  return function entryOf(token) {
    const digest = hash('sha256', token, 'base64')
    return {
      known: tokens.get(digest),
      keep(verified) {
        const [oldest] = tokens.keys()
        if (tokens.size >= max && oldest !== undefined) tokens.delete(oldest)
        tokens.set(digest, verified)
      },
      drop: () => void tokens.delete(digest),
    }
  }
}
