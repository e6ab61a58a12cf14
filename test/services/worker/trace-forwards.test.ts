import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { saveAllowedRegions } from '../../../services/platform/connections/regions.ts'
import {
  createTraceForward,
  deleteTraceForward,
  findTraceForward,
  resumeTraceForward,
  updateTraceForward,
} from '../../../services/platform/traces/trace-forwards.ts'
import type { TraceForward } from '../../../services/platform/traces/trace-forwards.ts'
import { createWebhookKeys } from '../../../services/platform/webhooks/webhook-keys.ts'
import { resealKeys } from '../../../services/tasks/reseal-keys.ts'
import { openCommittedSpans } from '../../../services/worker/trace-forwards/collector-spans.ts'
import { readAnswer } from '../../../services/worker/trace-forwards/post-spans.ts'
import { startTraceForwards } from '../../../services/worker/trace-forwards/start-trace-forwards.ts'
import { guardFor } from '../../support/outgoing.ts'
import { seedAutomation } from '../../support/platform.ts'
import { startSpanReceiver } from '../../support/span-receiver.ts'
import type { SpanReceiver } from '../../support/span-receiver.ts'
import { until } from '../../support/until.ts'
import { createHarness, SECRET } from '../collector/support/harness.ts'
import type { Harness } from '../collector/support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from '../collector/support/otlp.ts'
import { authorizationOf, tenantOf } from '../collector/support/tokens.ts'
import { useOneAutomation } from '../platform/one-automation.ts'
import { SECRET_KEY_BASE, silent } from './harness.ts'

const platform = useOneAutomation()
const keys = createWebhookKeys(SECRET_KEY_BASE)
const closing: (() => Promise<unknown>)[] = []

describe('forwards of traces', { timeout: 60_000 }, () => {
  let source: Harness
  let receiver: SpanReceiver
  let own: number
  let other: number
  beforeAll(async () => {
    ;[source, receiver] = await Promise.all([createHarness(), startSpanReceiver()])
    own = platform.automation.organizationId
    const another = { organization: 'Other', slug: 'other' }
    other = (await seedAutomation(platform.sql, another)).organizationId
  })
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
    receiver.exports.splice(0)
    receiver.refuseWith()
    await platform.sql`delete from trace_forwards`
  })
  afterAll(() => Promise.all([source.stop(), receiver.stop()]))

  const work = (origins: readonly string[] = [], tryMs = 2000) => {
    const spans = openCommittedSpans({ collectorUrl: source.collector.url, secret: SECRET })
    const running = startTraceForwards({
      sql: platform.sql,
      log: silent,
      guard: guardFor(receiver.url, source.collector.url, ...origins),
      spans,
      secretKeyBase: SECRET_KEY_BASE,
      backoff: { firstMs: 20, maxMs: 50 },
      onForwarded: () => {},
      lookMs: 50,
      idleSeconds: 0.1,
      leaseSeconds: 3,
      tryMs,
    })
    const stop = () => running.stop(0)
    closing.push(stop)
    return stop
  }
  const serve = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(async () => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  /** A forward; once `isBegun` it has the place from which it forwards. */
  const forward = async (
    endpoint = receiver.url,
    given: {
      headers?: string
      region?: string
      services?: string[]
      organizationId?: number
      isBegun?: boolean
    } = {},
  ): Promise<TraceForward> => {
    const { headers, region = null, organizationId = own, isBegun = true } = given
    const { services = [] } = given
    const [id, name] = [randomUUID(), randomUUID()]
    const sealedHeaders =
      headers === undefined ? null : keys.seal(headers, { id, deploymentId: organizationId })
    const of = { id, organizationId, name, endpoint, share: 100 }
    const fields = { ...of, services, region, sealedHeaders }
    const created = await createTraceForward(platform.sql, fields)
    if (isBegun) await until(async () => (await look(created)).beganAt !== null)
    return created
  }
  const look = async (row: TraceForward): Promise<TraceForward> => {
    const found = await findTraceForward(platform.sql, row)
    if (!found) throw new Error('there is none')
    return found
  }
  const send = async (count: number, organization = own, service?: string): Promise<string[]> => {
    const spans = Array.from({ length: count }, () =>
      spanOf({ spanId: randomBytes(8).toString('hex') }),
    )
    const { resourceSpans = [] } = requestOf(...spans)
    const resource = service && { attributes: [textAttribute('service.name', service)] }
    const sent = resource ? resourceSpans.map((each) => ({ ...each, resource })) : resourceSpans
    await tenantOf(source, String(organization)).send(toProtobuf({ resourceSpans: sent }))
    return spans.map(({ spanId = '' }) => spanId)
  }
  const received = (of = receiver): string[] =>
    of.exports.flatMap(({ spans }) => spans.map(({ spanId }) => spanId))
  const hasAll = (sent: readonly string[]) =>
    until(async () => sent.every((id) => received().includes(id)))
  const becomes = (row: TraceForward, isSo: (now: TraceForward) => boolean) =>
    until(async () => isSo(await look(row)))

  it('arrive at a collector as they are stored, with the headers, none of another', async () => {
    work()
    const bearer = await authorizationOf({ scopes: ['traces:write'], organization: '99' })
    const row = await forward(source.collector.url, {
      headers: `authorization=${encodeURIComponent(bearer)}`,
    })
    const sent = await send(3)
    await send(2, other)
    await becomes(row, ({ forwarded }) => forwarded === 3)
    const stored = await source.sql<{ id: string }[]>`
      select lpad(to_hex(span_id), 16, '0') as id from spans where organization = '99'`
    expect(stored.map(({ id }) => id).sort()).toEqual(sent.toSorted())
    expect(await look(row)).toMatchObject({ failingSince: null, waitingSince: null, rejected: 0 })
  })

  it('lose nothing while the receiver is down, and say how far they are behind', async () => {
    work()
    const row = await forward()
    receiver.refuseWith(503, 503, 429, 500)
    const sent = await send(2)
    await becomes(row, ({ failingSince, waitingSince }) => !!failingSince && !!waitingSince)
    expect((await look(row)).problem).toMatch(/HTTP (503|429|500)/)
    sent.push(...(await send(2)))
    await hasAll(sent)
    await becomes(row, ({ forwarded, waitingSince }) => forwarded === 4 && !waitingSince)
    expect(receiver.spans().map(({ spanId }) => spanId)).toHaveLength(4)
  })

  it('are those of the services that the forward names', async () => {
    work()
    const row = await forward(receiver.url, { services: ['billing', 'crew-*'] })
    await send(2, own, 'Billing')
    const sent = await send(2, own, 'billing')
    await send(2, own, 'shop')
    sent.push(...(await send(1, own, 'crew-platform-worker')))
    await becomes(row, ({ forwarded }) => forwarded === 3)
    expect(received().toSorted()).toEqual(sent.toSorted())
    const now = await look(row)
    await updateTraceForward(platform.sql, now, { ...now, services: [], sealedHeaders: undefined })
    sent.push(...(await send(1, own, 'shop')))
    await hasAll(sent)
    expect(received()).toHaveLength(4)
  })

  it('are sent again by the next worker when one ends before the answer', async () => {
    let calls = 0
    const hanging = await serve(() => void (calls += 1))
    const stop = work([hanging], 20_000)
    const row = await forward(hanging)
    const sent = await send(3)
    await until(async () => calls === 1)
    sent.push(...(await send(2)))
    await stop()
    await updateTraceForward(platform.sql, await look(row), {
      ...row,
      endpoint: receiver.url,
      sealedHeaders: undefined,
    })
    work()
    await hasAll(sent)
  })

  it('wait for no other forward whose receiver hangs', async () => {
    let calls = 0
    const hanging = await serve(() => void (calls += 1))
    work([hanging], 20_000)
    await forward(hanging, { organizationId: other })
    await forward()
    await send(1, other)
    await until(async () => calls === 1)
    await hasAll(await send(2))
  })

  it.each([400, 401, 403, 404, 302])('are paused after some answers %i, with why', async (code) => {
    let calls = 0
    const answering = await serve((_, response) => {
      calls += 1
      response.writeHead(code, { location: `${receiver.url}/v1/traces` }).end('<b>no</b>')
    })
    work([answering])
    const row = await forward(answering)
    await send(1)
    await becomes(row, ({ pausedAt }) => pausedAt !== null)
    expect((await look(row)).pauseReason).toContain(`HTTP ${code}`)
    expect(calls).toBe(7)
    expect(received()).toEqual([])
    await resumeTraceForward(platform.sql, row)
    await until(async () => calls > 7)
  })

  it('go nowhere that the guard refuses, whatever is stored', async () => {
    let calls = 0
    const inside = await serve(() => void (calls += 1))
    work()
    const row = await forward(inside)
    await send(1)
    await becomes(row, ({ pausedAt }) => pausedAt !== null)
    expect(calls).toBe(0)
    expect((await look(row)).pauseReason).toContain('A_SETTING')
  })

  it('go nowhere outside of the regions of their organization', async () => {
    work()
    const row = await forward(receiver.url, { region: 'us' })
    await saveAllowedRegions(platform.sql, own, ['eu'])
    closing.push(() => saveAllowedRegions(platform.sql, own, []))
    await send(1)
    await becomes(row, ({ pausedAt }) => pausedAt !== null)
    expect((await look(row)).pauseReason).toContain('must be one of eu')
    expect(received()).toEqual([])
  })

  it('are sent in smaller requests where the receiver takes no larger ones', async () => {
    // What the tests before have sent is behind the place at which the forward begins.
    await source.rolledUp()
    work()
    const row = await forward()
    receiver.refuseWith(413, 413)
    const sent = await send(8)
    await becomes(row, ({ forwarded }) => forwarded === 8)
    expect(receiver.exports.map(({ spans }) => spans.length).slice(0, 3)).toEqual([8, 4, 2])
    expect(receiver.spans().map(({ spanId }) => spanId)).toEqual(expect.arrayContaining(sent))
  })

  it('count what the receiver did not take, and repeat what it says', async () => {
    const partial = await serve((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'application/x-protobuf' })
        response.end(Buffer.from([0x0a, 0x07, 0x08, 0x02, 0x12, 0x03, 0x6f, 0x6c, 0x64]))
      })
    })
    work([partial])
    const row = await forward(partial)
    await send(3)
    await becomes(row, ({ forwarded, rejected }) => forwarded === 1 && rejected === 2)
    expect((await look(row)).problem).toBe('The receiver says: old')
  })

  it('end when they are deleted: the collector is told to keep no notes', async () => {
    work()
    const row = await forward()
    await deleteTraceForward(platform.sql, row)
    await until(async () => (await source.sql`select from forwarding`).length === 0)
    await send(1)
    await source.rolledUp()
    expect(await source.sql`select from spans_to_forward`).toHaveLength(0)
  })

  it('keep their headers sealed when the key is rotated, and on their own origin', async () => {
    const row = await forward(receiver.url, { headers: 'x-key=secret', isBegun: false })
    const current = 'another-secret-key-base-of-enough-characters'
    await resealKeys(platform.sql, { current, previous: SECRET_KEY_BASE }, silent)
    const [{ sealed }] = await platform.sql<[{ sealed: Buffer }]>`
      select sealed_headers as sealed from trace_forwards where id = ${row.id}`
    const place = { id: row.id, deploymentId: own }
    expect(createWebhookKeys(current).open(sealed, place)).toBe('x-key=secret')
    expect(sealed.includes('secret')).toBe(false)
    expect(JSON.stringify(await look(row))).not.toMatch(/secret|sealed/)
    const elsewhere = { ...row, endpoint: 'https://evil.example', sealedHeaders: undefined }
    await expect(updateTraceForward(platform.sql, row, elsewhere)).rejects.toThrow(/another origin/)
  })
})

describe('the answer of a receiver', () => {
  it.each([
    ['application/x-protobuf', Buffer.alloc(0), 0],
    ['application/x-protobuf', Buffer.from([0x0a, 0x7f, 0x08]), 0],
    ['application/x-protobuf', randomBytes(4), 0],
    ['text/html', Buffer.from('<html>'), 0],
    ['application/json', Buffer.from('{}'), 0],
    ['application/json', Buffer.from('{"partialSuccess":{"rejectedSpans":"3"}}'), 3],
    ['application/json', Buffer.from('{"partialSuccess":{"rejectedSpans":-3}}'), 0],
  ])('of %s says what it did not take, where it can be read', (type, body, rejected) => {
    expect(readAnswer({ 'content-type': type }, body).rejected).toBe(rejected)
  })
})
