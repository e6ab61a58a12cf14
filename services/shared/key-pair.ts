import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

/**
 * Makes keys to sign with, apart from the job that made them: Node 20 stands still for ever when it
 * collects that job as garbage while it exports one of the job's own keys as a JWK.
 */
export function makeKeyPair(algorithm: 'RS256' | 'ES256'): {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
} {
  const made =
    algorithm === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const privateKey = createPrivateKey(made.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  return { privateKey, publicKey: createPublicKey(privateKey) }
}
