import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInShare } from '../../../services/collector/read/forward-page.ts'
import type { CollectorTokenOptions } from '../../../services/shared/collector-token.ts'
import { citusUrl } from '../../support/citus.ts'
import { startSpanReceiver } from '../../support/span-receiver.ts'
import type { ReceivedSpan, SpanReceiver } from '../../support/span-receiver.ts'
import { createHarness, postTo, slowness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { authorizationOf, tenantOf } from './support/tokens.ts'

const [OWN, OTHER] = ['7', '8']

describe('spans that are forwarded', { timeout: 60_000 * slowness }, () => {
  let harness: Harness
  let receiver: SpanReceiver
  beforeAll(async () => {
    harness = await createHarness()
    receiver = await startSpanReceiver()
    await declare({ [OWN]: '0' })
  })
  afterAll(async () => {
    await harness.stop()
    await receiver.stop()
  })

  const declare = async (needed: Record<string, string>, claims: CollectorTokenOptions = {}) => {
    const list = Object.entries(needed).map(([organization, first]) => ({ organization, first }))
    const response = await fetch(`${harness.collector.url}/api/forwarding`, {
      method: 'PUT',
      headers: {
        authorization: await authorizationOf({ scopes: ['forwards:write'], ...claims }),
        'content-type': 'application/json',
      },
      body: JSON.stringify({ needed: list }),
    })
    return { status: response.status, text: await response.text() }
  }
  const send = (spans: OtlpSpan[], organization = OWN) =>
    tenantOf(harness, organization).send(toProtobuf(requestOf(...spans)))
  const page = async (query: string, organization = OWN) => {
    const response = await fetch(`${harness.collector.url}/api/forwarding?${query}`, {
      headers: {
        authorization: await authorizationOf(organization === '' ? {} : { organization }),
      },
    })
    const body = Buffer.from(await response.arrayBuffer())
    return { status: response.status, headers: response.headers, body }
  }
  /** All pages from a place on, as a receiver of OTLP reads them, and the place behind them. */
  const readAll = async (after: string, query = '') => {
    const spans: ReceivedSpan[] = []
    const pages: number[] = []
    let cursor = after
    for (let more = true; more;) {
      const { headers, body, status } = await page(`after=${cursor}${query}`)
      expect(status).toBe(200)
      const before = receiver.spans().length
      if (body.length > 0) {
        const { gzipSync } = await import('node:zlib')
        const zipped = new Uint8Array(gzipSync(body))
        await fetch(`${receiver.url}/v1/traces`, { method: 'POST', body: zipped })
      }
      const received = receiver.spans().slice(before)
      expect(received).toHaveLength(Number(headers.get('forward-spans')))
      spans.push(...received)
      pages.push(received.length)
      cursor = headers.get('forward-cursor') ?? ''
      more = headers.get('forward-more') === 'true'
    }
    return { spans, cursor, pages }
  }
  const now = async () => (await page('')).headers.get('forward-cursor') ?? ''
  const idsOf = (spans: readonly { spanId?: string | undefined }[]) =>
    spans.map(({ spanId = '' }) => spanId).sort()

  it('come once each, in pages, with all that was stored of them', async () => {
    const start = await now()
    const traceId = randomBytes(16).toString('hex')
    const sent = Array.from({ length: 25 }, (_, index) =>
      spanOf({
        traceId: index < 12 ? traceId : randomBytes(16).toString('hex'),
        spanId: randomBytes(8).toString('hex'),
        name: `step ${index}`,
        attributes: [
          textAttribute('gen_ai.prompt', 'Grüße '.repeat(100)),
          { key: 'n', value: { intValue: '9007199254740993' } },
        ],
        events: [{ name: 'retry', timeUnixNano: '1', attributes: [textAttribute('why', 'slow')] }],
      }),
    )
    await send(sent)
    await harness.rolledUp()
    const { spans, pages, cursor } = await readAll(start, '&spans=10')
    expect(idsOf(spans)).toEqual(idsOf(sent))
    expect(pages).toEqual([10, 10, 5])
    const first = spans.find(({ name }) => name === 'step 0')
    expect(first?.attributes['gen_ai.prompt']).toBe('Grüße '.repeat(100))
    expect(first?.events[0]?.attributes).toEqual({ why: 'slow' })
    // Spans of a trace that was there before come alone, and what is sent again does not come; on
    // Citus, which does not know by which commit a span was stored, all of the trace does.
    const later = spanOf({ traceId, spanId: randomBytes(8).toString('hex') })
    await send([later])
    await send(sent.slice(0, 3))
    await harness.rolledUp()
    const wanted = idsOf(citusUrl ? [...sent.slice(0, 12), later] : [later])
    const come = idsOf((await readAll(cursor)).spans)
    expect(citusUrl ? [...new Set(come)] : come).toEqual(wanted)
  })

  it('come in any order of commits, none lost, while senders send beside readers', async () => {
    let cursor = await now()
    const sent: OtlpSpan[] = []
    const seen: ReceivedSpan[] = []
    for (let round = 0; round < 6; round++) {
      const spans = Array.from({ length: 8 }, () =>
        spanOf({ spanId: randomBytes(8).toString('hex') }),
      )
      sent.push(...spans)
      const sends = spans.map((span) => send([span]))
      const read = await readAll(cursor)
      seen.push(...read.spans)
      cursor = read.cursor
      await Promise.all(sends)
    }
    await harness.rolledUp()
    seen.push(...(await readAll(cursor)).spans)
    expect(idsOf(seen)).toEqual(idsOf(sent))
  })

  it('are a share of whole traces, the same ones each time', async () => {
    const start = await now()
    const traces = Array.from({ length: 40 }, () => randomBytes(16).toString('hex'))
    await send(
      traces.flatMap((traceId) =>
        [1, 2].map(() => spanOf({ traceId, spanId: randomBytes(8).toString('hex') })),
      ),
    )
    await harness.rolledUp()
    const { spans } = await readAll(start, '&share=50')
    const chosen = traces.filter((traceId) => isInShare(traceId, 50))
    expect(chosen.length).toBeGreaterThan(0)
    expect(spans.map(({ traceId }) => traceId).sort()).toEqual([...chosen, ...chosen].sort())
    expect((await readAll(start)).spans).toHaveLength(80)
  })

  it('are those of the services that are named, by their resources', async () => {
    const start = await now()
    const names = ['billing', 'billing-2', 'Billing', 'crew-a', 'a%', "it's", undefined]
    const traceId = randomBytes(16).toString('hex')
    const resourceSpans = names.map((name) => ({
      resource: { attributes: name === undefined ? [] : [textAttribute('service.name', name)] },
      scopeSpans: [{ spans: [spanOf({ traceId, spanId: randomBytes(8).toString('hex'), name })] }],
    }))
    await tenantOf(harness, OWN).send(toProtobuf({ resourceSpans }))
    await harness.rolledUp()
    const read = async (services: string) => {
      const { spans } = await readAll(start, `&services=${encodeURIComponent(services)}`)
      return spans.map(({ name }) => name).toSorted()
    }
    expect(await read('billing')).toEqual(['billing'])
    expect(await read('billing*,crew-a')).toEqual(['billing', 'billing-2', 'crew-a'])
    expect(await read('%,a_*,crew')).toEqual([])
    expect(await read("a%*,it's")).toEqual(['a%', "it's"])
    expect((await readAll(start)).spans).toHaveLength(names.length)
    expect((await readAll(start, '&services=billing&spans=1')).spans).toHaveLength(1)
    for (const wrong of [
      '',
      '*',
      'a,',
      'a*b',
      '**',
      'x'.repeat(101),
      Array(11).fill('a').join(','),
    ]) {
      expect((await page(`after=${start}&services=${wrong}`)).status).toBe(400)
    }
  })

  it('grow with their share, and are all at 100', () => {
    const hex = fc
      .uint8Array({ minLength: 16, maxLength: 16 })
      .map((id) => Buffer.from(id).toString('hex'))
    const share = fc.integer({ min: 1, max: 100 })
    fc.assert(
      fc.property(hex, share, share, (id, one, other) => {
        expect(isInShare(id, 100)).toBe(true)
        if (isInShare(id, Math.min(one, other)))
          expect(isInShare(id, Math.max(one, other))).toBe(true)
      }),
    )
  })

  it('come whole when the rows were restored from a copy, and numbers began anew', async () => {
    const traceId = randomBytes(16).toString('hex')
    await send([spanOf({ traceId, spanId: randomBytes(8).toString('hex') })])
    await harness.rolledUp()
    await harness.sql`update spans_to_forward set day = day`
    await harness.sql`update spans set name = name where trace_id = ${traceId}::text::uuid`
    const { spans } = await readAll('9000000000')
    expect(spans.map((span) => span.traceId)).toContain(traceId)
  })

  it('are none of another organization, nor of one that forwards nothing', async () => {
    const start = await now()
    await send([spanOf({ spanId: randomBytes(8).toString('hex') })], OTHER)
    await harness.rolledUp()
    expect((await readAll(start)).spans).toEqual([])
    expect((await page('after=0', OTHER)).body).toHaveLength(0)
    expect((await page(`after=0&organization=${OWN}`, OTHER)).status).toBe(400)
    expect((await page('after=0', '')).body).toHaveLength(0)
  })

  it('are forgotten once no one needs them', async () => {
    await send([spanOf({ spanId: randomBytes(8).toString('hex') })])
    await harness.rolledUp()
    const last = (await now()).split('.')[0] ?? ''
    expect(await declare({ [OWN]: last })).toMatchObject({ status: 200 })
    expect(await harness.sql`select from spans_to_forward`).toHaveLength(1)
    await declare({})
    expect(
      await harness.sql`select from spans_to_forward union all select from forwarding`,
    ).toEqual([])
    await declare({ [OWN]: last })
  })

  it.each<[string, CollectorTokenOptions]>([
    ['reads', { scopes: ['traces:read'] }],
    ['writes', { scopes: ['traces:write'] }],
    ['says nothing', { scopes: undefined }],
    ['is of an organization', { organization: OWN }],
  ])('are not chosen with a token that %s', async (_, claims) => {
    expect((await declare({}, claims)).status).toBe(403)
    expect(await harness.sql`select from forwarding`).toHaveLength(1)
  })

  it.each([
    'after=x',
    'after=1.2',
    'after=99999999999999999999',
    'share=0',
    'share=101',
    'spans=0',
    "after=1'",
  ])('are not read with %s', async (query) => {
    expect((await page(query)).status).toBe(400)
  })

  it('cost a sender no more than a note: the ingest answers while no one reads them', async () => {
    const response = await postTo(harness.collector.url, toProtobuf(requestOf(spanOf())))
    expect(response.status).toBe(200)
  })
})
