import * as fc from 'fast-check'
import { spanOf, textAttribute, toProtobuf } from './otlp.ts'
import type { OtlpSpan } from './otlp.ts'

type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never

const word = fc.constantFrom('a', 'B', 'ä', '😀', '\uffff', 'a b', '"', '\\', '\t', 'x'.repeat(600))

/** A span of one of a few traces that differs from others in what roll-ups of notes are made of. */
const anyNamedSpan = fc.record({
  trace: fc.nat(2),
  id: fc.nat(5),
  parent: fc.option(fc.nat(9), { nil: undefined }),
  startMs: fc.nat(3),
  startNs: fc.nat(999),
  lastsNs: fc.option(fc.oneof(fc.nat(9e9), fc.constantFrom(2 ** 53, -1)), { nil: undefined }),
  status: fc.nat(2),
  name: fc.oneof(word, fc.constant('long '.repeat(4000))),
  attributes: fc.dictionary(
    fc.constantFrom(
      'agent.name',
      'task_name',
      'task_id',
      'gen_ai.tool.name',
      'error.type',
      'logfire.msg',
      'crew_id',
      'kickoff_id',
      'session.id',
      'user.id',
    ),
    word,
  ),
  operation: fc.constantFrom(undefined, 'execute_tool', 'invoke_agent', 'task', 'what'),
  scope: fc.nat(1),
})

const model = fc.constantFrom('gpt-4o', 'openai/GPT-4o-mini', 'claude-opus-4-5', 'no/such', 'Ä')
const tokens = fc.option(fc.oneof(fc.nat(5000), fc.constantFrom(-3, 2 ** 53)), { nil: undefined })

/** A call of a model: most have the names of their span and scope in common. */
const anyCall = fc.record({
  model: fc.option(model, { nil: undefined }),
  responseModel: fc.option(model, { nil: undefined }),
  tokens: fc.record({
    'gen_ai.usage.input_tokens': tokens,
    'gen_ai.usage.output_tokens': tokens,
    'gen_ai.usage.cache_read.input_tokens': tokens,
    'gen_ai.usage.reasoning.output_tokens': tokens,
  }),
  cost: fc.option(
    fc.oneof(
      fc.double({ min: 0, max: 10, noNaN: true }),
      fc.constantFrom(0, 0.5e-12, 1.5e-12, 8_999.99, 2e6),
    ),
    { nil: undefined },
  ),
  minutesAgo: fc.nat(90),
})
/** A span, and what it is as a call. */
export const anyNamed = fc.record({
  span: anyNamedSpan,
  call: fc.option(anyCall, { nil: undefined }),
  isPlain: fc.boolean(),
})

/** A number of the run, for the ids, and when it begins. */
interface Times {
  readonly run: number
  readonly now: number
}

/** The request with these spans, which are of one of two scopes, of a service. */
export function toNamedBody(
  { spans, service }: { spans: readonly Of<typeof anyNamed>[]; service: string | undefined },
  times: Times,
): Buffer {
  const attributes = service === undefined ? [] : [textAttribute('service.name', service)]
  const scopeSpans = [0, 1].map((scope) => ({
    scope: { name: `scope ${scope}` },
    spans: spans
      .filter((one) => scope === (one.isPlain ? 0 : one.span.scope))
      .map((one) => toCall(toNamedSpan(one.span, times), one)),
  }))
  return toProtobuf({ resourceSpans: [{ resource: { attributes }, scopeSpans }] })
}

function toCall(span: OtlpSpan, { call, isPlain }: Of<typeof anyNamed>): OtlpSpan {
  if (!call) return span
  const { model: request, responseModel: response, cost, minutesAgo } = call
  const text = (key: string, value: string | undefined) =>
    value === undefined ? [] : [textAttribute(key, value)]
  const shift = (time: string | undefined) =>
    time === '0' ? time : `${BigInt(time ?? 0) - BigInt(minutesAgo) * 60_000_000_000n}`
  return {
    ...span,
    ...(isPlain ? { name: 'chat' } : {}),
    startTimeUnixNano: shift(span.startTimeUnixNano),
    endTimeUnixNano: shift(span.endTimeUnixNano),
    attributes: [
      ...(span.attributes ?? []).filter(({ key }) => key !== 'gen_ai.operation.name'),
      textAttribute('gen_ai.operation.name', 'chat'),
      ...text('gen_ai.request.model', request),
      ...text('gen_ai.response.model', response),
      ...Object.entries(call.tokens).flatMap(([key, count]) =>
        count === undefined ? [] : [{ key, value: { intValue: `${count}` } }],
      ),
      ...(cost === undefined ? [] : [{ key: 'llm.cost.total', value: { doubleValue: cost } }]),
    ],
  }
}

function toNamedSpan(one: Of<typeof anyNamedSpan>, { run, now }: Times): OtlpSpan {
  const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, '0')
  const start = BigInt(now + one.startMs) * 1_000_000n + BigInt(one.startNs)
  const end = one.lastsNs === undefined ? 0n : start + BigInt(one.lastsNs)
  const operation = one.operation === undefined ? {} : { 'gen_ai.operation.name': one.operation }
  return spanOf({
    traceId: hex(run, 16) + hex(one.trace + 1, 16),
    spanId: hex(one.id + 1, 16),
    ...(one.parent === undefined ? {} : { parentSpanId: hex(one.parent + 1, 16) }),
    name: one.name,
    startTimeUnixNano: `${start}`,
    endTimeUnixNano: `${end}`,
    status: { code: one.status },
    attributes: Object.entries({ ...one.attributes, ...operation }).map(([key, value]) =>
      textAttribute(key, value),
    ),
  })
}
