import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import {
  signCollectorToken,
  verifyCollectorToken,
} from '../../../services/shared/collector-token.ts'

const secret = 's'.repeat(64)
const key = new TextEncoder().encode(secret)
const now = Math.floor(Date.now() / 1000)

const sign = (claims: Record<string, unknown>, header: { alg: string } = { alg: 'HS256' }) =>
  new SignJWT(claims).setProtectedHeader(header).sign(key)

describe('the token of a trace submission (SPEC 5.4)', () => {
  it('is accepted by the holder of the same secret and tells when it ends', async () => {
    const token = await signCollectorToken(secret, 'worker')
    const { issuer, issuedAt = 0, expiresAt } = await verifyCollectorToken(token, secret)
    expect(issuer).toBe('worker')
    expect(issuedAt).toBeGreaterThanOrEqual(now)
    expect(expiresAt).toBe(issuedAt + 300)
  })

  it.each([
    ['signed with another secret', () => signCollectorToken('x'.repeat(64), 'worker')],
    ['for another audience', () => sign({ aud: 'web', exp: now + 60 })],
    ['without an end', () => sign({ aud: 'collector' })],
    ['that has ended', () => sign({ aud: 'collector', exp: now - 120 })],
    ['not yet valid', () => sign({ aud: 'collector', exp: now + 600, nbf: now + 300 })],
    [
      'signed with another algorithm',
      () => sign({ aud: 'collector', exp: now + 60 }, { alg: 'HS512' }),
    ],
    ['that is not a token', async () => 'abc'],
  ])('refuses one %s', async (_, token) => {
    await expect(verifyCollectorToken(await token(), secret)).rejects.toThrow()
  })
})
