import * as fc from 'fast-check'
import { freshId, nanos, spanOf, textAttribute } from './otlp.ts'
import type { KeyValue, OtlpSpan } from './otlp.ts'

const NAMES = ['a', 'b', 'ba'] as const
/** Names, and the beginning of some. */
const SOUGHT = [...NAMES, 'b*'] as const

/** A step of a trace, and what it says of itself. */
const anyStep = fc.record({
  kind: fc.constantFrom('llm', 'tool', 'task', 'agent'),
  name: fc.constantFrom(...NAMES),
  answeredBy: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
  tokens: fc.nat(50),
  cents: fc.option(fc.nat(50), { nil: undefined }),
  error: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
  tier: fc.option(fc.constantFrom<string | number | boolean>('gold', 7, true), { nil: undefined }),
})

/** A trace as a sender knows it. */
const anyTrace = fc.record({
  minutesAgo: fc.integer({ min: 1, max: 300 }),
  root: fc.option(fc.constantFrom('ok', 'error', 'running'), { nil: undefined }),
  durationMs: fc.nat(3000),
  session: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
  user: fc.option(fc.constantFrom(...NAMES), { nil: undefined }),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 4 }),
})

export const someTraces = fc.array(anyTrace, { minLength: 1, maxLength: 12 })
type AnyTrace = typeof anyTrace extends fc.Arbitrary<infer One> ? One : never

const optional = <Value>(...values: Value[]): fc.Arbitrary<Value | undefined> =>
  fc.option(fc.constantFrom(...values), { nil: undefined, freq: 1 })

/** A filter, as parameters. Most have a few conditions, so that something is left. */
export const anyFilter = fc
  .subarray(
    Array.from({ length: 17 }, (_, i) => i),
    { maxLength: 3 },
  )
  .chain((chosen) =>
    fc
      .record({
        status: optional('ok', 'error', 'running', 'incomplete'),
        session: optional(...NAMES),
        user: optional(...NAMES),
        model: optional(...SOUGHT),
        agent: optional(...SOUGHT),
        task: optional(...SOUGHT),
        tool: optional(...SOUGHT),
        error_type: optional(...SOUGHT),
        attribute: optional('tier=gold', 'tier=7', 'tier=true', 'region=north', 'tier=none'),
        min_duration_ms: optional('0', '500'),
        max_duration_ms: optional('600', '3000'),
        min_tokens: optional('1', '60'),
        max_tokens: optional('0', '90'),
        min_cost_usd: optional('0', '0.4'),
        max_cost_usd: optional('0.41', '2'),
        fromMinutesAgo: optional(100, 200),
        toMinutesAgo: optional(10, 90),
      })
      .map((all) => {
        const entries = Object.entries(all).filter(([, value], i) => chosen.includes(i) && value)
        return Object.fromEntries(entries.map(([key, value]) => [key, String(value)]))
      }),
  )
export type AnyFilter = Readonly<Record<string, string>>

/** What lists show of a trace, by the sender's knowledge of it. */
export interface ExpectedTrace {
  readonly traceId: string
  readonly startMs: number
  readonly status: string
  readonly durationMs: number | undefined
  readonly tokens: number
  readonly cents: number | undefined
  readonly given: AnyTrace
}

const LIBRARY_KINDS = { llm: 'chat', tool: 'execute_tool', task: 'task', agent: 'invoke_agent' }
const NAME_KEYS = {
  llm: 'gen_ai.request.model',
  tool: 'gen_ai.tool.name',
  task: 'task_name',
  agent: 'gen_ai.agent.name',
}

/** The trace's spans, in a crew of their own, and what is expected of them. */
export function toSpans(given: AnyTrace, crew: string, now: number): [ExpectedTrace, OtlpSpan[]] {
  const traceId = freshId() + freshId()
  const rootId = freshId()
  const startMs = now - given.minutesAgo * 60_000
  const steps = given.steps.map((step, i) =>
    spanOf({
      traceId,
      parentSpanId: rootId,
      name: step.kind,
      startTimeUnixNano: nanos(startMs + i),
      endTimeUnixNano: nanos(startMs + i + 1),
      attributes: [textAttribute('crew_id', crew), ...attributesOf(step)],
    }),
  )
  const root = spanOf({
    traceId,
    spanId: rootId,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: given.root === 'running' ? '0' : nanos(startMs + given.durationMs),
    status: { code: given.root === 'error' ? 2 : 1 },
    attributes: [
      textAttribute('crew_id', crew),
      ...texts({ 'session.id': given.session, 'user.id': given.user }),
    ],
  })
  const isEnded = given.root === 'ok' || given.root === 'error'
  const calls = given.steps.filter(({ kind }) => kind === 'llm')
  // A cost of nothing for tokens is that of a sender without prices.
  const costs = calls.flatMap(({ cents, tokens }) =>
    cents === undefined || (cents === 0 && tokens > 0) ? [] : [cents],
  )
  const expected = {
    traceId,
    startMs,
    status: given.root ?? 'incomplete',
    durationMs: isEnded ? given.durationMs : undefined,
    tokens: sum(calls.map(({ tokens }) => tokens)),
    cents: costs.length > 0 ? sum(costs) : undefined,
    given: given.root ? given : { ...given, session: undefined, user: undefined },
  }
  return [expected, given.root ? [root, ...steps] : steps]
}

function attributesOf(step: AnyTrace['steps'][number]): KeyValue[] {
  const tier = step.tier
  return [
    textAttribute('gen_ai.operation.name', LIBRARY_KINDS[step.kind]),
    textAttribute(NAME_KEYS[step.kind], step.name),
    ...texts({ 'error.type': step.error }),
    ...texts({ 'gen_ai.response.model': step.kind === 'llm' ? step.answeredBy : undefined }),
    { key: 'gen_ai.usage.output_tokens', value: { intValue: step.tokens } },
    ...(step.cents === undefined
      ? []
      : [{ key: 'llm.cost.total', value: { doubleValue: step.cents / 100 } }]),
    ...(tier === undefined ? [] : [{ key: 'tier', value: toValue(tier) }]),
  ]
}

function toValue(value: string | number | boolean): KeyValue['value'] {
  if (typeof value === 'string') return { stringValue: value }
  return typeof value === 'number' ? { intValue: value } : { boolValue: value }
}

const texts = (values: Record<string, string | undefined>): KeyValue[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [textAttribute(key, value)],
  )

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)

const within = (value: number | undefined, least?: string, most?: string): boolean => {
  if (least === undefined && most === undefined) return true
  if (value === undefined) return false
  return value >= Number(least ?? -Infinity) && value <= Number(most ?? Infinity)
}

/** Whether the trace is one that the filter means. */
export function fits({ given, ...trace }: ExpectedTrace, filter: AnyFilter, now: number): boolean {
  const named = (kind: string, name: string | undefined): boolean =>
    name === undefined || given.steps.some((step) => step.kind === kind && isMeant(step.name, name))
  const { model, attribute, fromMinutesAgo, toMinutesAgo } = filter
  const startsAt = (minutesAgo: string): number => now - Number(minutesAgo) * 60_000
  const conditions = [
    filter['status'] === undefined || trace.status === filter['status'],
    filter['session'] === undefined || given.session === filter['session'],
    filter['user'] === undefined || given.user === filter['user'],
    named('agent', filter['agent']),
    named('task', filter['task']),
    named('tool', filter['tool']),
    model === undefined ||
      given.steps.some(
        ({ kind, name, answeredBy }) =>
          kind === 'llm' && (isMeant(name, model) || isMeant(answeredBy, model)),
      ),
    filter['error_type'] === undefined ||
      given.steps.some(({ error }) => isMeant(error, filter['error_type'])),
    attribute === undefined ||
      attribute === 'region=north' ||
      given.steps.some(({ tier }) => tier !== undefined && `tier=${String(tier)}` === attribute),
    within(trace.durationMs, filter['min_duration_ms'], filter['max_duration_ms']),
    within(trace.tokens, filter['min_tokens'], filter['max_tokens']),
    within(
      trace.cents === undefined ? undefined : trace.cents / 100,
      filter['min_cost_usd'],
      filter['max_cost_usd'],
    ),
    fromMinutesAgo === undefined || trace.startMs >= startsAt(fromMinutesAgo),
    toMinutesAgo === undefined || trace.startMs < startsAt(toMinutesAgo),
  ]
  return conditions.every(Boolean)
}

const isMeant = (name: string | undefined, sought = ''): boolean =>
  sought.endsWith('*') ? name?.startsWith(sought.slice(0, -1)) === true : name === sought

/** The keys of a query box, by the parameters that they set. */
const KEYS: readonly (readonly [parameter: string, key: string])[] = [
  ['status', 'status:'],
  ['model', 'model:'],
  ['agent', 'agent:'],
  ['task', 'task:'],
  ['tool', 'tool:'],
  ['error_type', 'error:'],
  ['attribute', 'attribute:'],
  ['min_duration_ms', 'duration>'],
  ['min_tokens', 'tokens>='],
  ['min_cost_usd', 'cost>'],
]

/** Returns the same filter with all that has a key in one query. */
export function toQuery(parameters: URLSearchParams): URLSearchParams {
  const rest = new URLSearchParams(parameters)
  const terms = KEYS.flatMap(([parameter, key]) => {
    const value = rest.get(parameter)
    rest.delete(parameter)
    return value === null ? [] : [key + value]
  })
  rest.set('query', terms.join(' ').replace('status:error', 'status:failed'))
  return rest
}

/** The filter as the parameters of a question. */
export function toParameters(filter: AnyFilter, now: number): URLSearchParams {
  const { fromMinutesAgo, toMinutesAgo, ...rest } = filter
  const parameters = new URLSearchParams(rest)
  const time = (minutesAgo: string): string =>
    new Date(now - Number(minutesAgo) * 60_000).toISOString()
  if (fromMinutesAgo) parameters.set('from', time(fromMinutesAgo))
  if (toMinutesAgo) parameters.set('to', time(toMinutesAgo))
  return parameters
}
