import type { JWK } from 'jose'
import { ALGORITHMS } from '../../../platform/automations/automation-oauth.ts'
import type { Algorithm } from '../../../platform/automations/automation-oauth.ts'
import { createDecoy } from './decoy.ts'
import type { Decoy } from './decoy.ts'
import type { KeyLookup, KeySet } from './key-set.ts'
import { claimOf } from './rule.ts'
import type { JsonObject, Reason } from './rule.ts'
import { createSignatureCheck } from './signature-check.ts'
import { fits } from './vet-keys.ts'

/** The most keys that are tried for a token that names none, or whose name several have. */
const CANDIDATES_MAX = 4

/** The key that made a signature, or why none did. */
export type SignatureResult =
  | { readonly ok: true; readonly key: JWK }
  | { readonly ok: false; readonly reason: Reason }

/** A token that the strict parser has read, with its header. */
interface SignedToken {
  readonly token: string
  readonly header: JsonObject
}

const algorithmOf = (header: JsonObject): Algorithm | undefined =>
  ALGORITHMS.find((each) => each === claimOf(header, 'alg'))

/** The keys of a set that could have signed a token with this header. */
export function findCandidates(header: JsonObject, keys: KeySet): Promise<KeyLookup> {
  const kid = claimOf(header, 'kid')
  const algorithm = algorithmOf(header)
  if (!algorithm) return Promise.resolve([])
  return keys.find((key) => fits(key, algorithm) && (kid === undefined || key.kid === kid))
}

/** Checks of signatures that share the keys they have imported. */
export interface Signatures {
  /** Tries each of a few candidates; the first key that fits decides. */
  verify(signed: SignedToken, candidates: KeyLookup): Promise<SignatureResult>
  readonly refuseAsDecoy: Decoy['refuse']
}

/** Creates the checks of signatures of one gate. */
export function createSignatures(): Signatures {
  const isSignedBy = createSignatureCheck()
  const decoy = createDecoy(isSignedBy)
  return {
    async verify({ token, header }, candidates) {
      if (candidates === undefined) return { ok: false, reason: 'idp_unavailable' }
      const algorithm = algorithmOf(header)
      if (!algorithm || candidates.length === 0 || candidates.length > CANDIDATES_MAX) {
        if (algorithm) await decoy.spend(token, algorithm)
        return { ok: false, reason: 'unknown_key' }
      }
      for (const key of candidates)
        if (await isSignedBy(token, key, algorithm)) return { ok: true, key }
      return { ok: false, reason: 'bad_signature' }
    },
    refuseAsDecoy: decoy.refuse,
  }
}
