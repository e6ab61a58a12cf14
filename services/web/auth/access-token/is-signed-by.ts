import { webcrypto } from 'node:crypto'
import { errors, importJWK } from 'jose'
import type { CryptoKey, JWK } from 'jose'
import type { Algorithm } from '../../../platform/automation-oauth.ts'
import { fits } from './vet-keys.ts'

interface Method {
  /** For WebCrypto; a key that was imported for another algorithm does not take it. */
  readonly params: webcrypto.AlgorithmIdentifier | webcrypto.RsaPssParams | webcrypto.EcdsaParams
  /** Of the signature; undefined: as long as the modulus, which the check itself sees to. */
  readonly bytes?: number
}

/** RSASSA-PSS has a salt as long as the hash, ECDSA writes R and S one after the other (RFC 7518 §3.3 to §3.5, RFC 8037 §3.1). */
const METHODS: Readonly<Record<Algorithm, Method>> = {
  RS256: { params: { name: 'RSASSA-PKCS1-v1_5' } },
  RS384: { params: { name: 'RSASSA-PKCS1-v1_5' } },
  RS512: { params: { name: 'RSASSA-PKCS1-v1_5' } },
  PS256: { params: { name: 'RSA-PSS', saltLength: 32 } },
  PS384: { params: { name: 'RSA-PSS', saltLength: 48 } },
  PS512: { params: { name: 'RSA-PSS', saltLength: 64 } },
  ES256: { params: { name: 'ECDSA', hash: 'SHA-256' }, bytes: 64 },
  ES384: { params: { name: 'ECDSA', hash: 'SHA-384' }, bytes: 96 },
  ES512: { params: { name: 'ECDSA', hash: 'SHA-512' }, bytes: 132 },
  EdDSA: { params: { name: 'Ed25519' }, bytes: 64 },
}

/** For as long as a key is in a set, and by algorithm, as one without `alg` may serve several. */
const imported = new WeakMap<JWK, Map<Algorithm, CryptoKey>>()

/**
 * Whether a key made the signature of a compact JWS (RFC 7515 §5.2) that was parsed before, with this algorithm and no
 * other. What is no key for it did not: numbers that are no point of the curve, an algorithm that this Node does not have.
 */
export async function isSignedBy(token: string, jwk: JWK, algorithm: Algorithm): Promise<boolean> {
  const { params, bytes } = METHODS[algorithm]
  const end = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  if (!fits(jwk, algorithm) || (bytes !== undefined && bytes !== signature.byteLength)) return false
  try {
    const key = imported.get(jwk)?.get(algorithm) ?? (await importKey(jwk, algorithm))
    const signed = Buffer.from(token.slice(0, end), 'latin1')
    return await webcrypto.subtle.verify(params, key, signature, signed)
  } catch (thrown) {
    if (thrown instanceof errors.JOSEError) return false
    if (thrown instanceof TypeError || thrown instanceof DOMException) return false
    throw thrown
  }
}

async function importKey(jwk: JWK, algorithm: Algorithm): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm)
  if (key instanceof Uint8Array) throw new TypeError('A symmetric key checks no signature.')
  const known = imported.get(jwk) ?? new Map<Algorithm, CryptoKey>()
  imported.set(jwk, known.set(algorithm, key))
  return key
}
