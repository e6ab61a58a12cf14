import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

const generate = promisify(generateKeyPair)

interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/**
 * Makes keys to sign with, apart from the job that made them: Node 20 stands still for ever when it
 * collects that job as garbage while it exports one of the job's own keys as a JWK.
 */
export async function makeKeyPair(algorithm: 'RS256' | 'ES256'): Promise<KeyPair> {
  const made =
    algorithm === 'RS256'
      ? await generate('rsa', { modulusLength: 2048 })
      : await generate('ec', { namedCurve: 'P-256' })
  const privateKey = createPrivateKey(made.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  return { privateKey, publicKey: createPublicKey(privateKey) }
}
