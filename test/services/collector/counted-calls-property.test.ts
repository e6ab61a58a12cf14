import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, nanos, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'
import { ask } from './support/reading.ts'
import { anyProgram, runProgram } from './support/served-calls.ts'
import type { Ledger } from './support/served-calls.ts'

/** Programs, of which so many make a case. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 100)
const OF_A_CASE = 50
/** Traces of a case for which the pages are asked, too. */
const ASKED = 8

/** A span, its library, and what it says. */
type Told = readonly [
  library: string,
  span: {
    readonly id: string
    readonly below?: string
    readonly kind?: string
    readonly model?: string
    readonly tokens?: readonly number[]
    readonly response?: string
    readonly from?: number
    readonly to?: number
    readonly isFailed?: boolean
  },
]
type Sums = ReadonlyMap<string, Ledger>
type Row = Readonly<Record<'traceId' | keyof Ledger, unknown>>

describe('what a trace adds up to', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const sumsOf = (rows: readonly Row[]): Sums =>
    new Map(
      rows.map(({ traceId, calls, input, output }) => [
        String(traceId).replaceAll('-', ''),
        { calls: Number(calls), input: Number(input), output: Number(output) },
      ]),
    )
  const rolledUp = async (ids: readonly string[]): Promise<Sums> =>
    sumsOf(
      await harness.sql<Row[]>`
      select trace_id, llm_calls as calls, input_tokens as input, output_tokens as output
      from traces where trace_id = any(${ids}::text[]::uuid[])`,
    )
  const viewed = async (ids: readonly string[]): Promise<Sums> =>
    sumsOf(
      await harness.sql<Row[]>`
      select traces.trace_id, count(llm_calls.span_id) as calls,
        coalesce(sum(llm_calls.input_tokens), 0) as input,
        coalesce(sum(llm_calls.output_tokens), 0) as output
      from traces left join llm_calls using (trace_id)
      where traces.trace_id = any(${ids}::text[]::uuid[]) group by traces.trace_id`,
    )
  const json = async (path: string): Promise<Record<string, unknown>> =>
    (await ask(harness, path)).json() as Promise<Record<string, unknown>>
  const summarized = async (traceId: string): Promise<Ledger> => {
    const { llm_calls: calls, tokens } = await json(`/api/traces/${traceId}?view=summary`)
    const { input, output } = tokens as Record<string, number>
    return { calls: Number(calls), input: Number(input), output: Number(output) }
  }
  const shown = async (traceId: string): Promise<Ledger> => {
    const page = await json(`/api/traces/${traceId}?view=skeleton`)
    const at = (name: string): number => (page['columns'] as string[]).indexOf(name)
    const rows = (page['spans'] as unknown[][]).filter((row) => row[at('counted')] === true)
    const sum = (name: string): number =>
      rows.reduce((total, row) => total + Number(row[at(name)] ?? 0), 0)
    return { calls: rows.length, input: sum('input_tokens'), output: sum('output_tokens') }
  }

  const at = Date.now() - 60_000
  /** A span of `library` from one second to another. */
  const toSpan = (traceId: string, [library, given]: Told): [string, OtlpSpan] => [
    library,
    spanOf({
      traceId,
      spanId: given.id.padStart(16, '0'),
      ...(given.below === undefined ? {} : { parentSpanId: given.below.padStart(16, '0') }),
      name: given.kind ?? `call by ${library}`,
      startTimeUnixNano: nanos(at + (given.from ?? 0) * 1000),
      endTimeUnixNano: nanos(at + (given.to ?? 9) * 1000),
      status: { code: given.isFailed ? 2 : 1 },
      attributes: [
        textAttribute('gen_ai.operation.name', given.kind ?? 'chat'),
        textAttribute('gen_ai.request.model', given.model ?? 'gpt-5-mini'),
        ...(given.response ? [textAttribute('gen_ai.response.id', given.response)] : []),
        ...(given.tokens ?? []).map((intValue, i) => ({
          key: `gen_ai.usage.${i === 0 ? 'input' : 'output'}_tokens`,
          value: { intValue },
        })),
      ],
    }),
  ]
  const totalsOf = async (told: readonly Told[]): Promise<Ledger | undefined> => {
    const traceId = freshId() + freshId()
    const spans = told.map((one) => toSpan(traceId, one))
    const scopeSpans = spans.map(([name, span]) => ({ scope: { name }, spans: [span] }))
    await harness.post(toProtobuf({ resourceSpans: [{ scopeSpans }] }))
    await harness.rolledUp()
    const totals = (await rolledUp([traceId])).get(traceId)
    expect((await viewed([traceId])).get(traceId)).toEqual(totals)
    expect(await summarized(traceId)).toEqual(totals)
    expect(await shown(traceId)).toEqual(totals)
    return totals
  }
  const [low, high] = [
    [100, 10],
    [20, 5],
  ]

  it.each<[string, readonly Told[], readonly number[]]>([
    [
      'a wrapper with tokens is above a call without',
      [
        ['a', { id: '1', tokens: low }],
        ['b', { id: '2', below: '1' }],
      ],
      [1, 100, 10],
    ],
    [
      'a wrapper has the same tokens as the call below it',
      [
        ['a', { id: '1', tokens: low }],
        ['a', { id: '2', below: '1', kind: 'CHAIN' }],
        ['b', { id: '3', below: '2', tokens: low }],
      ],
      [1, 100, 10],
    ],
    [
      'a tool of a call makes another call',
      [
        ['a', { id: '1', tokens: low }],
        ['a', { id: '2', below: '1', kind: 'execute_tool' }],
        ['a', { id: '3', below: '2', tokens: high }],
      ],
      [2, 120, 15],
    ],
    [
      'two libraries tell of one call side by side',
      [
        ['a', { id: '1', below: 'f', tokens: low, model: 'gpt-5-mini-2025-04-14' }],
        ['b', { id: '2', below: 'f', tokens: low, from: 1, to: 8 }],
      ],
      [1, 100, 10],
    ],
    [
      'two libraries count the tokens of one answer differently',
      [
        ['a', { id: '1', below: 'f', tokens: low, response: 'r' }],
        ['b', { id: '2', below: 'f', tokens: high, response: 'r', from: 1, to: 8 }],
      ],
      [1, 100, 10],
    ],
    [
      'equal calls have answers of their own',
      [
        ['a', { id: '1', below: 'f', tokens: low, response: 'r' }],
        ['b', { id: '2', below: 'f', tokens: low, response: 's', from: 1, to: 8 }],
      ],
      [2, 200, 20],
    ],
    [
      'a server gives later answers the same id',
      [
        ['a', { id: '1', below: 'f', tokens: low, response: 'r', to: 2 }],
        ['b', { id: '2', below: 'f', tokens: low, response: 'r', from: 3 }],
      ],
      [2, 200, 20],
    ],
    [
      'one library makes equal calls at the same time',
      [
        ['a', { id: '1', below: 'f', tokens: low }],
        ['a', { id: '2', below: 'f', tokens: low, from: 1, to: 8 }],
      ],
      [2, 200, 20],
    ],
    [
      'a span prepares the call, or begins its stream',
      [
        ['a', { id: '1', below: 'f', to: 1 }],
        ['b', { id: '2', below: 'f', tokens: low, from: 2 }],
      ],
      [1, 100, 10],
    ],
    [
      'a call failed before it was made again',
      [
        ['a', { id: '1', tokens: low }],
        ['b', { id: '2', below: '1', isFailed: true }],
        ['b', { id: '3', below: '1', tokens: low }],
      ],
      [2, 100, 10],
    ],
  ])('counts each call once where %s', async (_, told, [calls, input, output]) => {
    expect(await totalsOf(told)).toEqual({ calls, input, output })
  })

  it('is what its models have served, whatever wraps whatever', async () => {
    const programs = fc.array(anyProgram, { minLength: 1, maxLength: OF_A_CASE, size: 'max' })
    const oneCase = fc.asyncProperty(programs, async (given) => {
      const expected = new Map<string, Ledger>()
      for (const program of given) {
        const traceId = freshId() + freshId()
        const [request, ledger] = runProgram(program, traceId)
        expected.set(traceId, ledger)
        expect((await harness.post(toProtobuf(request))).status).toBe(200)
      }
      await harness.rolledUp()
      const ids = [...expected.keys()]
      expect(await rolledUp(ids)).toEqual(expected)
      expect(await viewed(ids)).toEqual(expected)
      for (const traceId of ids.slice(0, ASKED)) {
        expect(await summarized(traceId)).toEqual(expected.get(traceId))
        expect(await shown(traceId)).toEqual(expected.get(traceId))
      }
    })
    await fc.assert(oneCase, { numRuns: Math.ceil(RUNS / OF_A_CASE) })
  }, 3_600_000)
})
