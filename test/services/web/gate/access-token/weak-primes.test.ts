import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasWeakPrimes } from '../../../../../services/web/gate/access-token/vet-keys.ts'
import { vetKeys } from '../../../../../services/web/gate/access-token/vet-keys.ts'

/** Of two primes of 1024 bits that have the structure of the flawed library. */
const MODULUS = [
  'r4UGjj2cli_QSitb_qopPwcEmiVMPtLcdGycjbgouZOetXtEAMaZPItF1rYKMNcx6Ej2eKKk3v7QXVBvjIatr',
  'SIqvmTIJUxPS3AtLMvEhlW_QWzt5RAf6jbswifmnQbqJ3nM0C7ADut4PUL5UpvWeWa9uE4he8mvc47v5iQIu9',
  'MYENl3wMPYfFvdPwKfx92swiZifLKH63is5QKrw3w7SWiNulkpp-7qtaRI-e06JNo2dmwurUQyP5D_Gvt4kza',
  'aAGDCgPehZN6jmlE_JXcPnne1MOymaHbf3mpniMrve5vdDXy6d9Lesm3nVAj6V829zXcGdIoMZNi4x1l5lE2m',
  'iQ',
].join('')
const toNumber = (n: string): bigint => BigInt(`0x${Buffer.from(n, 'base64url').toString('hex')}`)

describe('an RSA key whose primes can be found out (ROCA)', () => {
  it('is not taken from a set, and the key beside it is', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const good = publicKey.export({ format: 'jwk' })
    const weak = { kty: 'RSA', n: MODULUS, e: 'AQAB', kid: 'weak' }
    expect(hasWeakPrimes(toNumber(MODULUS))).toBe(true)
    expect(vetKeys({ keys: [weak, { ...good, kid: 'good' }] })).toMatchObject([{ kid: 'good' }])
  })

  it('is no other number of that size', () => {
    const number = fc.bigInt({ min: 2n ** 2047n, max: 2n ** 2048n - 1n })
    fc.assert(fc.property(number, (modulus) => !hasWeakPrimes(modulus)))
    expect(hasWeakPrimes(toNumber(MODULUS) + 2n)).toBe(false)
  })
})
