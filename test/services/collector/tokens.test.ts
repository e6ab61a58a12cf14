import { connect } from 'node:http2'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHealth } from '../../../services/collector/store/health.ts'
import { createRevocations } from '../../../services/collector/tokens/revocations.ts'
import { revokeToken } from '../../../services/collector/tokens/revoked-tokens.ts'
import type { CollectorTokenOptions } from '../../../services/shared/collector-token.ts'
import { createHarness, postTo, PROTOBUF, SECRET, silent } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { authorized, openGrpc, TRACES } from './support/grpc.ts'
import type { GrpcClient } from './support/grpc.ts'
import { freshId, requestOf, spanOf, toProtobuf } from './support/otlp.ts'
import { openRaw } from './support/raw.ts'
import { A, authorizationOf } from './support/tokens.ts'

const DAY_SECONDS = 86_400
const [UNAUTHENTICATED, DENIED] = [16, 7]

/** A token of claims that no signer of ours makes. */
async function signedWith(claims: Record<string, unknown>): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 300
  const token = new SignJWT({ aud: 'collector', exp, ...claims })
  return `Bearer ${await token.setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(SECRET))}`
}

const bodyOf = (traceId: string): Buffer => toProtobuf(requestOf(spanOf({ traceId })))

describe('what a token allows', () => {
  let harness: Harness
  let grpc: GrpcClient
  beforeAll(async () => {
    harness = await createHarness({ GRPC_PORT: '0' }, { revocationsMs: 20 })
    grpc = openGrpc(harness.collector.grpcUrl ?? '')
  })
  afterAll(async () => {
    grpc.close()
    await harness.stop()
  })

  const write = async (authorization: string, traceId = freshId() + freshId()): Promise<number> =>
    (await postTo(harness.collector.url, bodyOf(traceId), { authorization })).status
  const read = async (authorization: string): Promise<number> =>
    (await fetch(`${harness.collector.url}/api/traces`, { headers: { authorization } })).status
  const call = async (authorization: string): Promise<number> => {
    const metadata = await authorized({ authorization })
    return (await grpc.send(bodyOf(freshId() + freshId()), { metadata })).code
  }
  const outcome = async (authorization: string) => ({
    http: await write(authorization),
    grpc: await call(authorization),
    read: await read(authorization),
  })
  const organizationOf = async (traceId: string): Promise<unknown> => {
    const [row] = await harness.sql`
      select organization from spans where trace_id = ${traceId}::uuid`
    return row?.['organization']
  }
  const revoke = async (id: string): Promise<void> => {
    await revokeToken(harness.sql, { id, reason: 'test' })
    const probe = await authorizationOf({ id, organization: 'probe' })
    await expect.poll(() => read(probe), { interval: 20 }).toBe(401)
  }

  const scoped: [string, CollectorTokenOptions, Awaited<ReturnType<typeof outcome>>][] = [
    ['an old one without a scope: both', {}, { http: 200, grpc: 0, read: 200 }],
    ['writing', { scopes: ['traces:write'] }, { http: 200, grpc: 0, read: 403 }],
    ['reading', { scopes: ['traces:read'] }, { http: 403, grpc: DENIED, read: 200 }],
    ['nothing, with an empty scope', { scopes: [] }, { http: 403, grpc: DENIED, read: 403 }],
    ['both', { scopes: ['traces:write', 'traces:read'] }, { http: 200, grpc: 0, read: 200 }],
  ]
  it.each(scoped)('is what its scope says: %s', async (_, options, expected) => {
    expect(await outcome(await authorizationOf(options))).toEqual(expected)
    expect(await outcome(await authorizationOf({ ...options, organization: A }))).toEqual(expected)
  })

  it('is told to a bearer who lacks the scope, and counted', async () => {
    const reason = { reason: 'wrong_scope' }
    const before = await harness.metric('collector_auth_failures_total', reason)
    const headers = { authorization: await authorizationOf({ scopes: ['traces:write'] }) }
    const response = await fetch(`${harness.collector.url}/api/traces`, { headers })
    expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(await response.json()).toMatchObject({
      error: 'insufficient_scope',
      message: 'This needs a token with the scope traces:read; yours has another scope.',
    })
    expect(await harness.metric('collector_auth_failures_total', reason)).toBe(before + 1)
  })

  it.each([
    ['an empty organization', { org: '' }],
    ['one of 65 characters', { org: 'x'.repeat(65) }],
    ['one with a line break', { org: 'a\nb' }],
    ['one with half a pair', { org: '\ud800' }],
    ['one that is a number', { org: 7 }],
    ['one that is null', { org: null }],
    ['a scope that is a list', { scope: ['traces:write'] }],
    ['an id that is no text', { jti: 7 }],
    ['an id without end', { jti: 'x'.repeat(129) }],
  ])('is nothing with %s', async (_, claims) => {
    const refused = { http: 401, grpc: UNAUTHENTICATED, read: 401 }
    expect(await outcome(await signedWith(claims))).toEqual(refused)
  })

  it('is for a year at the most with an id, and for 90 days without', async () => {
    const lasting = (id: string | undefined, days: number) =>
      authorizationOf({ id, seconds: days * DAY_SECONDS })
    expect(await write(await lasting(freshId(), 366))).toBe(200)
    expect(await write(await lasting(freshId(), 367))).toBe(401)
    expect(await write(await lasting(undefined, 91))).toBe(401)
  })

  it('includes no word about whose the spans are', async () => {
    const named = (traceId: string, organization: string): Buffer => {
      const { resourceSpans: [first] = [] } = requestOf(spanOf({ traceId }))
      const attribute = { key: 'organization_id', value: { stringValue: organization } }
      return toProtobuf({ resourceSpans: [{ ...first, resource: { attributes: [attribute] } }] })
    }
    const sent = async (authorization: string, name: string): Promise<unknown> => {
      const traceId = freshId() + freshId()
      const body = named(traceId, name)
      await postTo(harness.collector.url, body, { authorization })
      return organizationOf(traceId)
    }
    expect(await sent(await authorizationOf({ organization: A }), 'other')).toBe(A)
    const platform = await authorizationOf()
    expect(await sent(platform, 'other')).toBe('other')
    expect(await sent(platform, '')).toBe('')
    expect(await sent(platform, 'x'.repeat(65))).toBe('')
  })

  describe('once it is revoked', () => {
    it('is nothing, on any way', async () => {
      const id = freshId()
      const token = await authorizationOf({ id, seconds: 30 * DAY_SECONDS })
      const allowed = { http: 200, grpc: 0, read: 200 }
      expect(await outcome(token)).toEqual(allowed)
      await revoke(id)
      expect(await outcome(token)).toEqual({ http: 401, grpc: UNAUTHENTICATED, read: 401 })
      expect(await outcome(await authorizationOf({ id: freshId() }))).toEqual(allowed)
      const revoked = { reason: 'revoked' }
      expect(await harness.metric('collector_auth_failures_total', revoked)).toBeGreaterThan(3)
    })

    it('commits nothing of a request that is open', async () => {
      const id = freshId()
      const traceId = freshId() + freshId()
      const body = bodyOf(traceId)
      const raw = await openRaw(harness.collector.url)
      const head = [
        'POST /v1/traces HTTP/1.1',
        'Host: x',
        `Authorization: ${await authorizationOf({ id })}`,
        `Content-Type: ${PROTOBUF}`,
        `Content-Length: ${body.length}`,
        'Expect: 100-continue',
      ]
      raw.write(`${head.join('\r\n')}\r\n\r\n`)
      await raw.until('100 Continue')
      raw.write(body.subarray(0, 10))
      await revoke(id)
      raw.write(body.subarray(10))
      expect(await raw.until('required.')).toContain('HTTP/1.1 401')
      raw.close()
      expect(await organizationOf(traceId)).toBeUndefined()
    })

    it('commits nothing of a call that is open', async () => {
      const id = freshId()
      const traceId = freshId() + freshId()
      const message = bodyOf(traceId)
      const prefix = Buffer.alloc(5)
      prefix.writeUInt32BE(message.length, 1)
      const session = connect(harness.collector.grpcUrl ?? '')
      const stream = session.request({
        ':method': 'POST',
        ':path': TRACES,
        'content-type': 'application/grpc',
        te: 'trailers',
        authorization: await authorizationOf({ id }),
      })
      const statusOf = new Promise<unknown>((resolve) => {
        for (const event of ['response', 'trailers'] as const) {
          stream.on(event, (headers: Record<string, unknown>) => {
            if (headers['grpc-status'] !== undefined) resolve(headers['grpc-status'])
          })
        }
      })
      stream.write(Buffer.concat([prefix, message.subarray(0, 10)]))
      const isAdmitted = async () => (await harness.metric('collector_queue_bytes')) > 0
      await expect.poll(isAdmitted).toBe(true)
      await revoke(id)
      stream.end(message.subarray(10))
      expect(Number(await statusOf)).toBe(UNAUTHENTICATED)
      session.close()
      expect(await organizationOf(traceId)).toBeUndefined()
    })

    it('stays so while the list cannot be read; after a minute the health says so', async () => {
      let nowMs = 0
      const revocations = createRevocations(() => nowMs)
      const health = createHealth({ log: silent, now: () => nowMs })
      health.enter('running')
      health.notePing(true)
      const clock = { isSkewed: () => false, skewMs: () => 0 }
      const report = () =>
        health.report({ bytes: 0, oldest: undefined, clock, revocations, search: 'off' })
      const id = freshId()
      await revokeToken(harness.sql, { id, reason: undefined })
      await revocations.refresh(harness.sql)
      nowMs = 50_000
      expect(report()).toMatchObject({ status: 'ok', revocations: 'ok' })
      await harness.sql`alter table revoked_tokens rename to revoked_tokens_gone`
      await expect(revocations.refresh(harness.sql)).rejects.toThrow()
      await harness.sql`alter table revoked_tokens_gone rename to revoked_tokens`
      nowMs = 60_001
      expect(report()).toMatchObject({ status: 'degraded', revocations: 'stale' })
      expect(revocations.isRevoked(id)).toBe(true)
      await revocations.refresh(harness.sql)
      expect(report()).toMatchObject({ status: 'ok', revocations: 'ok' })
    })
  })

  it('needs to be said, once scopes are required', async () => {
    const strict = await harness.another({ COLLECTOR_REQUIRE_SCOPES: 'true' })
    const statusOf = async (options: CollectorTokenOptions) => {
      const authorization = await authorizationOf(options)
      const response = await postTo(strict.url, bodyOf(freshId() + freshId()), {
        authorization,
        'content-type': 'application/json',
      })
      return { status: response.status, text: await response.text() }
    }
    const refused = await statusOf({})
    expect(refused.status).toBe(403)
    expect(refused.text).toContain('a token with the scope traces:write; yours has no scope')
    expect((await statusOf({ scopes: ['traces:write'] })).status).toBe(400)
    await strict.stop()
  })
})
