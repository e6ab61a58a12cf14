import * as fc from 'fast-check'
import { freshId, nanos, spanOf, textAttribute } from './otlp.ts'
import type { KeyValue, OtlpSpan, TraceRequest } from './otlp.ts'

/** What a model has served. */
export interface Ledger {
  readonly calls: number
  readonly input: number
  readonly output: number
}

interface Usage {
  readonly model: string
  readonly input: number
  readonly output: number
}

/** A span of a call: with its tokens or without, in a chain of its own or not. */
const layer = fc.record({ hasTokens: fc.boolean(), isInChain: fc.boolean() })

const usage = fc.record({
  model: fc.constantFrom('gpt-5-mini', 'claude-sonnet-4-5'),
  input: fc.integer({ min: 1, max: 3 }),
  output: fc.nat(2),
})

/** A call of a model as one library reports it: from the outermost span to the innermost. */
const reported = fc.record({
  outer: fc.array(layer, { maxLength: 2 }),
  /** Which of them has the tokens in any case. */
  teller: fc.nat(2),
  failedBefore: fc.nat(2),
  hasId: fc.boolean(),
})

type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer One> ? One : never
type Reported = Of<typeof reported>

type Step =
  | { readonly call: Usage & { readonly by: Reported; readonly inner: readonly Step[] } }
  | { readonly twice: Usage & { readonly by: Reported; readonly isTurned: boolean } }
  | { readonly atOnce: Usage & { readonly times: number; readonly isTwice: boolean } }
  | { readonly sumOf: readonly Usage[] }
  | { readonly prepared: Usage }
  | { readonly silent: true }
  | { readonly failed: Usage }
  | {
      readonly within: {
        readonly kind: 'agent' | 'tool' | 'chain'
        readonly inner: readonly Step[]
      }
    }

/** Steps within steps; tools and agents within a call make calls of their own. */
export const anyProgram = fc.letrec<{ step: Step; steps: Step[] }>((tie) => ({
  steps: fc.array(tie('step'), { maxLength: 3, depthIdentifier: 'steps' }),
  step: fc.oneof(
    { depthSize: 'small', depthIdentifier: 'steps' },
    fc.record({ call: fc.tuple(usage, reported).map(([one, by]) => ({ ...one, by, inner: [] })) }),
    fc.record({
      twice: fc
        .tuple(usage, reported, fc.boolean())
        .map(([one, by, isTurned]) => ({ ...one, by, isTurned })),
    }),
    fc.record({
      atOnce: fc
        .tuple(usage, fc.integer({ min: 2, max: 4 }), fc.boolean())
        .map(([one, times, isTwice]) => ({ ...one, times, isTwice })),
    }),
    fc.record({ sumOf: fc.array(usage, { minLength: 1, maxLength: 3 }) }),
    fc.record({ prepared: usage }),
    fc.record({ silent: fc.constant(true as const) }),
    fc.record({ failed: usage }),
    fc.record({
      call: fc
        .tuple(usage, reported, tie('steps'))
        .map(([one, by, inner]) => ({ ...one, by, inner })),
    }),
    fc.record({
      within: fc.record({
        kind: fc.constantFrom('agent' as const, 'tool' as const, 'chain' as const),
        inner: tie('steps'),
      }),
    }),
  ),
})).steps

/** A span without its place in time. */
interface Made {
  readonly scope: string
  readonly name: string
  readonly attributes: readonly KeyValue[]
  readonly isFailed?: boolean
}

const count = (key: string, value: number): KeyValue => ({ key, value: { intValue: `${value}` } })
const WORDS = { agent: 'invoke_agent', tool: 'execute_tool', chain: 'CHAIN', call: 'chat' }

const kindOf = (kind: keyof typeof WORDS): KeyValue =>
  textAttribute('gen_ai.operation.name', WORDS[kind])
const tokensOf = ({ input, output }: Usage): KeyValue[] => [
  count('gen_ai.usage.input_tokens', input),
  count('gen_ai.usage.output_tokens', output),
]

/** The spans of a program in a trace, and what its models have served. */
export function runProgram(program: readonly Step[], traceId: string): [TraceRequest, Ledger] {
  const recorder = createRecorder(traceId)
  const session = textAttribute('session.id', traceId)
  recorder.around({ ...stepOf('agent', []), attributes: [kindOf('agent'), session] }, '', (root) =>
    runSteps(recorder, program, root),
  )
  return [recorder.request(), recorder.ledger]
}

interface Recorder {
  readonly ledger: Ledger
  /** Milliseconds since the start, of which each call takes some. */
  readonly now: (takesMs?: number) => number
  readonly serve: (usage: Usage) => void
  readonly fail: () => void
  /** A span from one time to another. */
  readonly add: (made: Made, parent: string, times: readonly [from: number, to: number]) => void
  /** A span around what happens within it. */
  readonly around: (made: Made, parent: string, body: (id: string) => void) => void
  readonly request: () => TraceRequest
}

function createRecorder(traceId: string): Recorder {
  const startMs = Date.now() - 60_000
  const spans = new Map<string, OtlpSpan[]>()
  const ledger = { calls: 0, input: 0, output: 0 }
  let clock = 0
  const now = (takesMs = 2): number => (clock += takesMs)
  const put = ({ scope, name, attributes, isFailed }: Made, place: OtlpSpan): void => {
    const status = { code: isFailed === true ? 2 : 1 }
    const one = spanOf({ traceId, name, attributes: [...attributes], status, ...place })
    spans.set(scope, [...(spans.get(scope) ?? []), one])
  }
  const placed = (parentSpanId: string, ...[from, to]: [number, number]): OtlpSpan => ({
    ...(parentSpanId === '' ? {} : { parentSpanId }),
    startTimeUnixNano: nanos(startMs + from),
    endTimeUnixNano: nanos(startMs + to),
  })
  return {
    ledger,
    now,
    serve({ input, output }) {
      ledger.calls++
      ledger.input += input
      ledger.output += output
    },
    fail: () => void ledger.calls++,
    add: (made, parent, [from, to]) => put(made, placed(parent, from, to)),
    around(made, parent, body) {
      const spanId = freshId()
      const from = now()
      body(spanId)
      put(made, { ...placed(parent, from, now()), spanId })
    },
    request: () => ({
      resourceSpans: [
        { scopeSpans: [...spans].map(([name, list]) => ({ scope: { name }, spans: list })) },
      ],
    }),
  }
}

const stepOf = (kind: keyof typeof WORDS, more: readonly KeyValue[]): Made => ({
  scope: 'a',
  name: kind,
  attributes: [kindOf(kind), ...more],
})

const callOf = (given: Usage, scope: string, more: readonly KeyValue[] = []): Made => ({
  scope,
  name: `chat by ${scope}`,
  attributes: [kindOf('call'), textAttribute('gen_ai.request.model', given.model), ...more],
})

const idOf = (id: string | undefined): KeyValue[] =>
  id === undefined ? [] : [textAttribute('gen_ai.response.id', id)]

function runSteps(recorder: Recorder, steps: readonly Step[], parent: string): void {
  for (const step of steps) runStep(recorder, step, parent)
}

function runStep(recorder: Recorder, step: Step, parent: string): void {
  const { serve, fail, around } = recorder
  const leaf = (made: Made, above = parent): void => around(made, above, () => {})
  if ('call' in step) runCall(recorder, step.call, parent)
  else if ('twice' in step) runTwice(recorder, step.twice, parent)
  else if ('atOnce' in step) runAtOnce(recorder, step.atOnce, parent)
  else if ('sumOf' in step) {
    around(callOf(sumOf(step.sumOf), 'sum', tokensOf(sumOf(step.sumOf))), parent, (spanId) => {
      for (const one of step.sumOf) {
        serve(one)
        leaf(callOf(one, 'a0', tokensOf(one)), spanId)
      }
    })
  } else if ('prepared' in step) {
    serve(step.prepared)
    leaf(callOf(step.prepared, 'preparation'))
    leaf(callOf(step.prepared, 'a0', tokensOf(step.prepared)))
  } else if ('silent' in step) {
    serve(SILENT)
    leaf(callOf(SILENT, 'a0'))
  } else if ('failed' in step) {
    fail()
    leaf({ ...callOf(step.failed, 'a0'), isFailed: true })
  } else {
    const { kind, inner } = step.within
    // An agent says what all of its calls have used.
    const sums = kind === 'agent' ? tokensOf({ model: '', input: 70, output: 7 }) : []
    around(stepOf(kind, sums), parent, (spanId) => runSteps(recorder, inner, spanId))
  }
}

const SILENT: Usage = { model: 'silent', input: 0, output: 0 }

const sumOf = (all: readonly Usage[]): Usage => ({
  model: all[0]?.model ?? '',
  input: all.reduce((sum, { input }) => sum + input, 0),
  output: all.reduce((sum, { output }) => sum + output, 0),
})

type Call = Extract<Step, { call: unknown }>['call']

/** A call whose spans lie one in the other; the innermost has the failed attempts and the steps. */
function runCall(recorder: Recorder, { by, inner, ...given }: Call, parent: string): void {
  const { serve, fail, around } = recorder
  const layers = [...by.outer, { hasTokens: false, isInChain: false }]
  const teller = Math.min(by.teller, layers.length - 1)
  const id = by.hasId ? freshId() : undefined
  const askMore = (above: string): void => {
    if (inner.length === 0) return
    around(stepOf('tool', []), above, (spanId) => runSteps(recorder, inner, spanId))
  }
  const enter = (index: number, above: string): void => {
    const one = layers[index]
    if (!one) return askMore(above)
    const tokens = one.hasTokens || index === teller ? tokensOf(given) : []
    const enterCall = (aboveCall: string): void =>
      around(callOf(given, `a${index}`, [...tokens, ...idOf(id)]), aboveCall, (spanId) => {
        const failures = index > 0 && index === layers.length - 1 ? by.failedBefore : 0
        for (let nr = 0; nr < failures; nr++) {
          fail()
          around({ ...callOf(given, 'attempt'), isFailed: true }, spanId, () => {})
        }
        enter(index + 1, spanId)
      })
    if (one.isInChain) around(stepOf('chain', []), above, enterCall)
    else enterCall(above)
  }
  serve(given)
  enter(0, parent)
}

type Twice = Extract<Step, { twice: unknown }>['twice']

/** A call that two libraries report side by side, one of them perhaps with spans within spans. */
function runTwice(recorder: Recorder, { by, isTurned, ...given }: Twice, parent: string): void {
  const { serve, around, add, now } = recorder
  const id = by.hasId ? freshId() : undefined
  const [first, second] = isTurned ? ['b', 'a'] : ['a', 'b']
  const from = now(0)
  const report = (left: number, above: string): void =>
    around(callOf(given, `${first}${left}`, [...tokensOf(given), ...idOf(id)]), above, (spanId) => {
      if (left > 0) report(left - 1, spanId)
    })
  serve(given)
  report(by.outer.length, parent)
  const made = callOf(given, `${second}0`, [...tokensOf(given), ...idOf(id)])
  add(made, parent, [from + 3, now(0) - 1])
}

type AtOnce = Extract<Step, { atOnce: unknown }>['atOnce']

/** Equal calls at the same time, which two libraries may report. */
function runAtOnce(recorder: Recorder, { times, isTwice, ...given }: AtOnce, parent: string): void {
  const { serve, add, now } = recorder
  const from = now()
  for (let nr = 0; nr < times; nr++) {
    serve(given)
    const until = from + 100 - nr * 5
    add(callOf(given, 'a0', tokensOf(given)), parent, [from + nr * 10, until])
    if (!isTwice) continue
    add(callOf(given, 'b0', tokensOf(given)), parent, [from + nr * 10 + 2, until - 2])
  }
  now(110)
}
