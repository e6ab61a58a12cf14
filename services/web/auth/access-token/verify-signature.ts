import { compactVerify, errors } from 'jose'
import type { JWK } from 'jose'
import { ALGORITHMS } from '../../../platform/automation-oauth.ts'
import type { KeyLookup, KeySet } from './key-set.ts'
import { claimOf } from './rule.ts'
import type { JsonObject, Reason } from './rule.ts'
import { fits } from './vet-keys.ts'

/** Keys tried for a token that names none, or a name that several have. */
const CANDIDATES_MAX = 4

export type SignatureResult =
  | { readonly ok: true; readonly key: JWK }
  | { readonly ok: false; readonly reason: Reason }

/** The keys of a set that could have signed a token with this header. */
export function findCandidates(header: JsonObject, keys: KeySet): Promise<KeyLookup> {
  const kid = claimOf(header, 'kid')
  const algorithm = ALGORITHMS.find((each) => each === claimOf(header, 'alg'))
  if (!algorithm) return Promise.resolve([])
  return keys.find((key) => fits(key, algorithm) && (kid === undefined || key.kid === kid))
}

/** Checks the signature with each of a few keys; the first that fits decides. */
export async function verifySignature(
  token: string,
  candidates: KeyLookup,
): Promise<SignatureResult> {
  if (candidates === undefined) return { ok: false, reason: 'idp_unavailable' }
  if (candidates.length === 0 || candidates.length > CANDIDATES_MAX)
    return { ok: false, reason: 'unknown_key' }
  for (const key of candidates) if (await isSignedBy(token, key)) return { ok: true, key }
  return { ok: false, reason: 'bad_signature' }
}

async function isSignedBy(token: string, key: JWK): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [...ALGORITHMS] })
    return true
  } catch (thrown) {
    if (thrown instanceof errors.JOSEError) return false
    // A key whose numbers are no point of its curve, or an algorithm that this Node does not have.
    if (thrown instanceof TypeError || thrown instanceof DOMException) return false
    throw thrown
  }
}
