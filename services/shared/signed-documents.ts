import { createPublicKey, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import * as v from 'valibot'
import { canonicalJson } from './canonical-json.ts'

/** Parses a public key of Ed25519: SubjectPublicKeyInfo in hexadecimal digits. */
export const publicKeySchema = v.pipe(
  v.string(),
  v.regex(
    /^302a300506032b6570032100[0-9a-f]{64}$/,
    'must be a public key of Ed25519: SubjectPublicKeyInfo in 88 hexadecimal digits',
  ),
)

/** Parses a signature of Ed25519 in hexadecimal digits. */
export const signatureSchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/))

/** Signs a document in canonical JSON with Ed25519. */
export const signDocument = (document: unknown, key: KeyObject): string =>
  sign(null, Buffer.from(canonicalJson(document)), key).toString('hex')

/** Returns true when the signature of a document is that of a key. */
export function isSignedWith(document: unknown, signed: string, spki: string): boolean {
  const key = createPublicKey({ key: Buffer.from(spki, 'hex'), format: 'der', type: 'spki' })
  return verify(null, Buffer.from(canonicalJson(document)), key, Buffer.from(signed, 'hex'))
}
