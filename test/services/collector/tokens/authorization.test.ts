import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAuthorization } from '../../../../services/collector/tokens/authorization.ts'
import { signCollectorToken } from '../../../../services/shared/collector-token.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { bearer, createHarness, PROTOBUF, SECRET, silent } from '../support/harness.ts'
import type { Harness } from '../support/harness.ts'
import { openRaw } from '../support/raw.ts'
import { decodeStatus } from '../support/status.ts'

const PREVIOUS = 'the-previous-secret-of-more-than-32-characters'

interface Claims {
  alg?: string
  aud?: string
  exp?: number
  secret?: string
}

const DAY_SECONDS = 86_400
const REST = {
  secrets: [SECRET],
  revocations: { isRevoked: () => false },
  requireScopes: false,
}
const seconds = (): number => Math.floor(Date.now() / 1000)

const sign = ({
  alg = 'HS256',
  aud = 'collector',
  exp = seconds() + 60,
  secret = SECRET,
}: Claims) =>
  new SignJWT({ exp }).setProtectedHeader({ alg }).setAudience(aud).sign(Buffer.from(secret))

describe('authentication of submissions (SPEC 5.4)', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({ COLLECTOR_JWT_SECRET_PREVIOUS: PREVIOUS })
  })
  afterAll(() => harness.stop())

  it('answers 401 before the body is sent', async () => {
    const raw = await openRaw(harness.collector.url)
    raw.write(
      `POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: ${PROTOBUF}\r\n` +
        'Content-Length: 50000000\r\n\r\n',
    )
    const answer = await raw.until('\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1.1 401/)
    expect(answer.toLowerCase()).toContain('www-authenticate: bearer')
    raw.close()
  })

  it.each([
    ['missing', ''],
    ['malformed', 'Authorization: Bearer\r\n'],
    ['malformed', 'Authorization: Basic dXNlcjpwYXNz\r\n'],
    ['malformed', 'Authorization: Bearer a b\r\n'],
    ['malformed', `Authorization: Bearer ${'a'.repeat(5000)}\r\n`],
    ['invalid', 'Authorization: Bearer a.b.c\r\n'],
  ])('refuses a %s header', async (reason, header) => {
    const before = await harness.metric('collector_auth_failures_total', { reason })
    const raw = await openRaw(harness.collector.url)
    raw.write(`POST /v1/traces HTTP/1.1\r\nHost: x\r\n${header}Content-Length: 0\r\n\r\n`)
    expect(await raw.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 401/)
    raw.close()
    expect(await harness.metric('collector_auth_failures_total', { reason })).toBe(before + 1)
  })

  it('refuses two headers, even when both are good', async () => {
    const token = await bearer()
    const raw = await openRaw(harness.collector.url)
    const header = `Authorization: ${token}\r\n`
    raw.write(`POST /v1/traces HTTP/1.1\r\nHost: x\r\n${header}${header}Content-Length: 0\r\n\r\n`)
    expect(await raw.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 401/)
    raw.close()
  })

  const hostile: [string, Claims][] = [
    ['signed with another secret', { secret: 'another-secret-of-more-than-32-characters' }],
    ['for another audience', { aud: 'platform' }],
    ['that has expired', { exp: seconds() - 120 }],
    ['of another algorithm', { alg: 'HS512' }],
  ]
  it.each(hostile)('refuses a token %s, without saying why', async (_, claims) => {
    const token = await sign(claims)
    const response = await harness.post('', { authorization: `Bearer ${token}` })
    expect(response.status).toBe(401)
    const status = decodeStatus(await response.arrayBuffer())
    expect(status).toEqual({ code: 16, message: 'A valid bearer token is required.', details: 0 })
  })

  it('refuses an unsigned token and one without expiry', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const unsigned = `${part({ alg: 'none' })}.${part({ aud: 'collector', exp: seconds() + 60 })}.`
    const eternal = await new SignJWT({ aud: 'collector' })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(SECRET))
    for (const token of [unsigned, eternal]) {
      const response = await harness.post('', { authorization: `Bearer ${token}` })
      expect(response.status).toBe(401)
    }
  })

  it('takes tokens of the previous secret', async () => {
    const token = await signCollectorToken(PREVIOUS, 'test')
    expect((await harness.post('', { authorization: `bearer ${token}` })).status).toBe(200)
  })

  const tooLong: [string, { iat?: number }][] = [
    ['without the time of its issue', {}],
    ['issued a moment ago', { iat: seconds() }],
    ['issued long ago', { iat: seconds() - 80 * DAY_SECONDS }],
    ['issued in the future', { iat: seconds() + 4000 * DAY_SECONDS }],
  ]
  it.each(tooLong)('refuses a token that is good for more than 90 days, %s', async (_, claims) => {
    const reason = { reason: 'lifetime_too_long' }
    const before = await harness.metric('collector_auth_failures_total', reason)
    const exp = Math.max(seconds() + 11 * DAY_SECONDS, claims.iat ?? 0) + 81 * DAY_SECONDS
    const token = await new SignJWT({ aud: 'collector', exp, ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(SECRET))
    expect((await harness.post('', { authorization: `Bearer ${token}` })).status).toBe(401)
    expect(await harness.metric('collector_auth_failures_total', reason)).toBe(before + 1)
  })

  it('counts long-lived tokens in use that expire soon, and warns once a day', async () => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const log = createLog({ name: 'test', level: 'warn', destination })
    let nowMs = Date.now()
    const { authorize, countExpiring } = createAuthorization({
      ...REST,
      now: () => nowMs,
      log,
    })
    const issued = new SignJWT({ aud: 'collector', iss: 'billing' }).setIssuedAt(seconds())
    const token = await issued
      .setExpirationTime(seconds() + 30 * DAY_SECONDS)
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(SECRET))
    const use = () => authorize(['Authorization', `Bearer ${token}`], 'traces:write')
    await use()
    await authorize(['Authorization', await bearer()], 'traces:write')
    expect([countExpiring(7 * DAY_SECONDS), countExpiring(31 * DAY_SECONDS)]).toEqual([0, 1])
    expect(lines).toEqual([])
    nowMs += 24 * DAY_SECONDS * 1000
    expect(countExpiring(7 * DAY_SECONDS)).toBe(0)
    await use()
    await use()
    expect(countExpiring(7 * DAY_SECONDS)).toBe(1)
    expect(lines.length).toBe(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ issuer: 'billing' })
    expect(lines.join()).not.toContain(token)
    nowMs += DAY_SECONDS * 1000
    await use()
    expect(lines.length).toBe(2)
    expect(await harness.metric('collector_tokens_expiring')).toBe(0)
  })

  it('remembers a token no longer than it is valid', async () => {
    const now = () => Date.now()
    const { authorize } = createAuthorization({ ...REST, now, log: silent })
    const headers = ['Authorization', `Bearer ${await sign({ exp: seconds() + 60 })}`]
    const use = () => authorize(headers, 'traces:write')
    expect(await use()).toHaveProperty('grant')
    expect(await use()).toHaveProperty('grant')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 180_000 })
    expect(await use()).toEqual({ failure: 'expired' })
    vi.useRealTimers()
  })
})
