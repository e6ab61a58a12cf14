import { generateKeyPairSync, sign } from 'node:crypto'
import fc from 'fast-check'
import { CompactSign, compactVerify } from 'jose'
import type { JWK } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { ALGORITHMS } from '../../../../../services/platform/automations/automation-oauth.ts'
import type { Algorithm } from '../../../../../services/platform/automations/automation-oauth.ts'
import { createSignatureCheck } from '../../../../../services/web/gate/access-token/signature-check.ts'

const isSignedBy = createSignatureCheck()
const pairs = {
  RSA: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  Ed25519: generateKeyPairSync('ed25519'),
} as const
type Kind = keyof typeof pairs

/** What the key set holds of each pair: nothing that names an algorithm. */
const publicKeys = Object.entries(pairs).map(
  ([kind, { publicKey }]) => [kind, publicKey.export({ format: 'jwk' }) as JWK] as const,
)
const KINDS: Readonly<Partial<Record<Algorithm, Kind>>> = {
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'Ed25519',
}
const kindOf = (algorithm: Algorithm): Kind => KINDS[algorithm] ?? 'RSA'
const keyFor = (algorithm: Algorithm): JWK =>
  publicKeys.find(([kind]) => kind === kindOf(algorithm))?.[1] ?? {}

const payload = Buffer.from('{"sub":"crm"}')
const tokens = new Map<Algorithm, string>()
const tokenOf = (algorithm: Algorithm): string => tokens.get(algorithm) ?? ''
const withSignature = (token: string, signature: Uint8Array): string =>
  `${token.slice(0, token.lastIndexOf('.'))}.${Buffer.from(signature).toString('base64url')}`
const signatureOf = (token: string): Buffer =>
  Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url')

beforeAll(async () => {
  for (const alg of ALGORITHMS) {
    const signed = new CompactSign(payload).setProtectedHeader({ alg })
    tokens.set(alg, await signed.sign(pairs[kindOf(alg)].privateKey))
  }
})

describe('the signature of a token (RFC 7518 §3.3 to §3.5, RFC 8037 §3.1)', () => {
  it.each(ALGORITHMS)('%s: holds with its own key and its own algorithm only', async (made) => {
    const token = tokenOf(made)
    for (const [kind, key] of publicKeys) {
      for (const asked of ALGORITHMS) {
        const isGood = await isSignedBy(token, key, asked)
        expect([kind, asked, isGood]).toEqual([
          kind,
          asked,
          asked === made && kind === kindOf(made),
        ])
      }
    }
  })

  it.each(ALGORITHMS)('%s: jose says the same of each changed token', async (algorithm) => {
    const key = keyFor(algorithm)
    const token = tokenOf(algorithm)
    const bytes = signatureOf(token)
    const changed = fc.oneof(
      fc.tuple(fc.nat(bytes.byteLength - 1), fc.nat(255)).map(([at, byte]) => {
        const next = Buffer.from(bytes)
        next[at] = byte
        return next
      }),
      fc.nat(bytes.byteLength).map((end) => bytes.subarray(0, end)),
      fc.uint8Array({ minLength: 1 }).map((more) => Buffer.concat([bytes, more])),
      fc.constant(Buffer.alloc(bytes.byteLength)),
      fc.constant(Buffer.alloc(bytes.byteLength, 255)),
    )
    const property = fc.asyncProperty(changed, async (signature) => {
      const text = withSignature(token, signature)
      const byJose = compactVerify(text, key, { algorithms: [algorithm] }).then(
        () => true,
        () => false,
      )
      expect(await isSignedBy(text, key, algorithm)).toBe(await byJose)
    })
    await fc.assert(property, { numRuns: 40 })
  })

  it('names what was signed: no other header, no other payload', async () => {
    const [header, , signature] = tokenOf('RS256').split('.')
    const [otherHeader] = tokenOf('RS384').split('.')
    const body = payload.toString('base64url')
    const other = Buffer.from('{"sub":"crn"}').toString('base64url')
    const key = keyFor('RS256')
    expect(await isSignedBy(`${header}.${body}.${signature}`, key, 'RS256')).toBe(true)
    expect(await isSignedBy(`${header}.${other}.${signature}`, key, 'RS256')).toBe(false)
    expect(await isSignedBy(`${otherHeader}.${body}.${signature}`, key, 'RS256')).toBe(false)
  })

  it('has one form: no ECDSA in DER, no salt of another length', async () => {
    const signed = (token: string) => Buffer.from(token.slice(0, token.lastIndexOf('.')))
    const ecdsa = tokenOf('ES256')
    const der = sign('sha256', signed(ecdsa), pairs['P-256'].privateKey)
    expect(await isSignedBy(withSignature(ecdsa, der), keyFor('ES256'), 'ES256')).toBe(false)
    const pss = tokenOf('PS256')
    const salted = (saltLength: number) =>
      withSignature(
        pss,
        sign('sha256', signed(pss), { key: pairs.RSA.privateKey, padding: 6, saltLength }),
      )
    expect(await isSignedBy(salted(32), keyFor('PS256'), 'PS256')).toBe(true)
    for (const saltLength of [0, 20, 64])
      expect(await isSignedBy(salted(saltLength), keyFor('PS256'), 'PS256')).toBe(false)
  })

  it('is refused for a bad key: point off the curve, short numbers, another alg', async () => {
    const { x, y } = keyFor('ES256')
    const broken: readonly (readonly [Algorithm, JWK])[] = [
      ['ES256', { kty: 'EC', crv: 'P-256', x: `${y}`, y: `${x}` }],
      ['ES256', { kty: 'EC', crv: 'P-256', x: 'AQ', y: 'AQ' }],
      ['ES256', { ...keyFor('ES256'), alg: 'ES384' }],
      ['ES384', { ...keyFor('ES256'), crv: 'P-384' }],
      ['EdDSA', { kty: 'OKP', crv: 'Ed25519', x: 'AQ' }],
      ['EdDSA', { kty: 'OKP', crv: 'X25519', x: `${keyFor('EdDSA').x}` }],
      ['RS256', { kty: 'RSA', n: 'AQ', e: 'AQ' }],
      ['RS256', { ...keyFor('RS256'), alg: 'PS256' }],
    ]
    for (const [algorithm, key] of broken) {
      expect(await isSignedBy(tokenOf(algorithm), key, algorithm)).toBe(false)
      expect(await isSignedBy(tokenOf(algorithm), key, algorithm)).toBe(false)
    }
  })
})
