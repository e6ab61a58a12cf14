import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { REFUSALS } from '../../../services/collector/otlp/problems.ts'
import type { Refusal } from '../../../services/collector/otlp/problems.ts'
import { openGrpc } from './support/grpc.ts'
import type { GrpcClient } from './support/grpc.ts'
import { createHarness, JSON_TYPE, PROTOBUF } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, spanOf, textAttribute, toJson, toProtobuf } from './support/otlp.ts'
import type { AnyValue, OtlpSpan, ResourceSpans, TraceRequest } from './support/otlp.ts'
import { decodePartialSuccess } from './support/status.ts'

const LONG = 'x'.repeat(300_000)
const MARK = '[cut: 262144 of 300000 bytes]'
const many = Array.from({ length: 1030 }, (_, i) => i)
const deep = (levels: number): AnyValue =>
  levels === 0 ? { stringValue: 'x' } : { arrayValue: { values: [deep(levels - 1)] } }
const link = { traceId: freshId() + freshId(), spanId: freshId() }
const attributes = [textAttribute('long', LONG)]
const bytes = { bytesValue: Buffer.alloc(300_000).toString('base64') }

/** A span, what it lies in, and the column that says what became of it. */
interface Cut {
  readonly span?: OtlpSpan
  readonly scope?: { readonly name?: string; readonly version?: string }
  readonly resource?: ResourceSpans['resource']
  readonly column: string
}

const TOO_LONG: Readonly<Record<string, Cut>> = {
  'a name': { span: { name: LONG }, column: 'name' },
  'a status message': { span: { status: { message: LONG } }, column: 'status_message' },
  'a trace state': { span: { traceState: LONG }, column: 'trace_state' },
  'an attribute': { span: { attributes }, column: 'payload' },
  'a key': { span: { attributes: [textAttribute(LONG, '')] }, column: 'attributes' },
  'a member of a value': {
    span: {
      attributes: [{ key: 'map', value: { kvlistValue: { values: attributes } } }],
    },
    column: 'payload',
  },
  bytes: { span: { attributes: [{ key: 'bytes', value: bytes }] }, column: 'payload' },
  'the name of an event': { span: { events: [{ name: LONG }] }, column: 'events' },
  'an attribute of an event': { span: { events: [{ name: 'e', attributes }] }, column: 'events' },
  'the trace state of a link': {
    span: { links: [{ ...link, traceState: LONG }] },
    column: 'links',
  },
  'an attribute of a link': { span: { links: [{ ...link, attributes }] }, column: 'links' },
  'an attribute of the resource': { resource: { attributes }, column: 'resource' },
  'the name of the scope': { scope: { name: LONG }, column: 'scope' },
  'the version of the scope': { scope: { name: 's', version: LONG }, column: 'scope' },
}

const TOO_MANY: Readonly<Record<string, Cut & { readonly message: string }>> = {
  attributes: {
    span: { attributes: many.map((i) => textAttribute(`key-${i}`, '')) },
    message: '6 attributes beyond 1024 of a span',
    column: 'dropped_attributes',
  },
  events: {
    span: { events: many.map((i) => ({ name: `${i}` })) },
    message: '6 events or links beyond 1024 of a span',
    column: 'dropped_events',
  },
  links: {
    span: { links: many.map(() => link) },
    message: '6 events or links beyond 1024 of a span',
    column: 'dropped_links',
  },
}

const REFUSED: Readonly<Record<Refusal | 'refused_by_database', OtlpSpan>> = {
  invalid_trace_id: { traceId: 'ab'.repeat(15) },
  invalid_span_id: { spanId: 'ab'.repeat(9) },
  invalid_parent_span_id: { parentSpanId: 'ab'.repeat(3) },
  invalid_kind: { kind: 40_000 },
  invalid_status: { status: { code: 40_000 } },
  missing_start_time: { startTimeUnixNano: '0' },
  too_old: { startTimeUnixNano: nanos(Date.now() - 8 * 86_400_000) },
  too_far_in_future: { startTimeUnixNano: nanos(Date.now() + 2 * 86_400_000) },
  too_deep: { attributes: [{ key: 'deep', value: deep(33) }] },
  refused_by_database: { name: 'poison' },
}

describe('the warning to a sender', () => {
  let harness: Harness
  let grpc: GrpcClient
  beforeAll(async () => {
    harness = await createHarness({ GRPC_PORT: '0' })
    await harness.sql`alter table spans add constraint tasty check (name <> 'poison')`
    grpc = openGrpc(harness.collector.grpcUrl ?? '')
  })
  afterAll(async () => {
    grpc.close()
    await harness.stop()
  })

  type Warning = { rejected: number; message: string } | undefined
  const WAYS: Readonly<Record<string, (request: TraceRequest) => Promise<Warning>>> = {
    protobuf: async (request) => {
      const response = await harness.post(toProtobuf(request), { 'content-type': PROTOBUF })
      return decodePartialSuccess(await response.arrayBuffer())
    },
    JSON: async (request) => {
      const response = await harness.post(toJson(request), { 'content-type': JSON_TYPE })
      const { partialSuccess: partial } = JSON.parse(await response.text())
      return partial && { rejected: Number(partial.rejectedSpans), message: partial.errorMessage }
    },
    gRPC: async (request) => {
      const { body = Buffer.alloc(0) } = await grpc.send(toProtobuf(request))
      return decodePartialSuccess(new Uint8Array(body).buffer)
    },
  }
  const requestOf = ({ span, scope = { name: 's' }, resource = {} }: Omit<Cut, 'column'>) => {
    const given = spanOf(span)
    const spans = [given, spanOf()]
    return { given, request: { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] } }
  }
  const columnOf = async ({ spanId = '' }: OtlpSpan, column: string): Promise<unknown> => {
    const [row] = await harness.sql<{ values: Record<string, unknown> }[]>`
      select to_jsonb(spans) || jsonb_build_object(
        'resource', resources.attributes::text, 'scope', to_jsonb(scopes)::text
      ) as values
      from spans join resources on resources.id = resource_id join scopes on scopes.id = scope_id
      where span_id = ${`${BigInt.asIntN(64, BigInt(`0x${spanId}`))}`}::text::int8`
    return row?.values[column]
  }

  describe.each(Object.keys(WAYS))('over %s', (way) => {
    const send = async (request: TraceRequest): Promise<Warning> => WAYS[way]?.(request)

    it('is none when all is stored as it came', async () => {
      expect(await send(requestOf({}).request)).toBeUndefined()
    })

    it.each(Object.entries(TOO_LONG))('tells of %s that is too long', async (_, cut) => {
      const { given, request } = requestOf(cut)
      const message = 'Spans are stored, but were cut: 1 values at 262144 bytes.'
      expect(await send(request)).toEqual({ rejected: 0, message })
      expect(JSON.stringify(await columnOf(given, cut.column))).toContain(MARK)
    })

    it.each(Object.entries(TOO_MANY))('tells of too many %s', async (_, cut) => {
      const { given, request } = requestOf(cut)
      const message = `Spans are stored, but were cut: ${cut.message}.`
      expect(await send(request)).toEqual({ rejected: 0, message })
      expect(await columnOf(given, cut.column)).toBe(6)
    })

    it.each([...REFUSALS, 'refused_by_database'] as const)(
      'tells of a span: %s',
      async (reason) => {
        const { given, request } = requestOf({ span: REFUSED[reason] })
        const message = `Spans were rejected: 1 ${reason}.`
        expect(await send(request)).toEqual({ rejected: 1, message })
        if (reason !== 'refused_by_database') return
        const rejects = await harness.sql`
        select sqlstate from span_rejects where trace_id = ${given.traceId ?? ''}::uuid`
        expect(rejects).toEqual([{ sqlstate: '23514' }])
      },
    )

    it('tells of all of it at once', async () => {
      const spans = [
        spanOf({ name: LONG }),
        spanOf(TOO_MANY['links']?.span),
        spanOf(REFUSED.too_old),
        spanOf(REFUSED.too_deep),
        spanOf(REFUSED.too_deep),
      ]
      expect(await send({ resourceSpans: [{ scopeSpans: [{ spans }] }] })).toEqual({
        rejected: 3,
        message:
          'Spans were rejected: 1 too_old, 2 too_deep. Spans are stored, but were cut: ' +
          '1 values at 262144 bytes, 6 events or links beyond 1024 of a span.',
      })
    })
  })
})
