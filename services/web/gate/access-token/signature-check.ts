import { constants, KeyObject, verify } from 'node:crypto'
import type { SigningOptions } from 'node:crypto'
import { errors, importJWK } from 'jose'
import type { JWK } from 'jose'
import type { Algorithm } from '../../../platform/automations/automation-oauth.ts'
import { fits } from './vet-keys.ts'

/** The way an algorithm signs. */
interface Method {
  /** null: the algorithm has a hash of its own. */
  readonly hash: string | null
  readonly form?: SigningOptions
  /** The length of a signature. Absent: that of the modulus. */
  readonly bytes?: number
}

const pss = (saltLength: number): SigningOptions => ({
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength,
})
/** R and S, one after the other: JWS has no DER (RFC 7518 §3.4). */
const pair: SigningOptions = { dsaEncoding: 'ieee-p1363' }

/** The methods of the algorithms (RFC 7518 §3.3 to §3.5, RFC 8037 §3.1). */
const METHODS: Readonly<Record<Algorithm, Method>> = {
  RS256: { hash: 'sha256' },
  RS384: { hash: 'sha384' },
  RS512: { hash: 'sha512' },
  PS256: { hash: 'sha256', form: pss(32) },
  PS384: { hash: 'sha384', form: pss(48) },
  PS512: { hash: 'sha512', form: pss(64) },
  ES256: { hash: 'sha256', form: pair, bytes: 64 },
  ES384: { hash: 'sha384', form: pair, bytes: 96 },
  ES512: { hash: 'sha512', form: pair, bytes: 132 },
  EdDSA: { hash: null, bytes: 64 },
}

interface ImportedKey {
  readonly key: KeyObject
  /** Undefined for a key without a modulus. */
  readonly modulusBytes: number | undefined
}

/**
 * Returns true if a key made the signature of a compact JWS (RFC 7515 §5.2), which was parsed
 * before, with this algorithm and no other. False also for what is no key: numbers that are no
 * point of the curve, an algorithm that this Node does not have.
 */
export type SignatureCheck = (token: string, jwk: JWK, algorithm: Algorithm) => Promise<boolean>

/** Creates a check that imports each key once, and forgets it with its set. */
export function createSignatureCheck(): SignatureCheck {
  const imported = new WeakMap<JWK, ImportedKey>()

  async function importOnce(jwk: JWK, algorithm: Algorithm): Promise<ImportedKey> {
    const known = imported.get(jwk) ?? (await importKey(jwk, algorithm))
    imported.set(jwk, known)
    return known
  }

  return async function isSignedBy(token, jwk, algorithm) {
    const end = token.lastIndexOf('.')
    const signature = Buffer.from(token.slice(end + 1), 'base64url')
    if (!fits(jwk, algorithm)) return false
    try {
      const imported = await importOnce(jwk, algorithm)
      const signed = Buffer.from(token.slice(0, end), 'latin1')
      return await verifyBytes({ signed, signature }, imported, METHODS[algorithm])
    } catch (thrown) {
      if (thrown instanceof errors.JOSEError) return false
      if (thrown instanceof TypeError || thrown instanceof DOMException) return false
      throw thrown
    }
  }
}

function verifyBytes(
  { signed, signature }: { signed: Buffer; signature: Buffer },
  { key, modulusBytes }: ImportedKey,
  { hash, form, bytes = modulusBytes }: Method,
): Promise<boolean> {
  if (signature.byteLength !== bytes) return Promise.resolve(false)
  // In the thread pool, as WebCrypto does it, with less work on this thread.
  return new Promise((resolve) =>
    verify(hash, signed, { key, ...form }, signature, (error, isGood) =>
      resolve(error === null && isGood),
    ),
  )
}

async function importKey(jwk: JWK, algorithm: Algorithm): Promise<ImportedKey> {
  const cryptoKey = await importJWK(jwk, algorithm)
  if (cryptoKey instanceof Uint8Array) throw new TypeError('A symmetric key checks no signature.')
  const key = KeyObject.from(cryptoKey)
  const bits = key.asymmetricKeyDetails?.modulusLength
  return { key, modulusBytes: bits === undefined ? undefined : Math.ceil(bits / 8) }
}
