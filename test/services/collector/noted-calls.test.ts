import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { priceJoins } from '../../../services/collector/store/roll-ups/call-cost.ts'
import { costOf, createCallPrices } from '../../../services/collector/store/roll-ups/call-price.ts'
import { TOKEN_COLUMNS } from '../../../services/collector/store/roll-ups/measures.ts'
import { LEADER_LOCK } from '../../../services/collector/store/roll-ups/roll-up-turn.ts'
import { POSTGRES_EPOCH_US } from '../../../services/collector/otlp/limits.ts'
import { readPrices } from '../../../services/shared/prices/price-table.ts'
import type { Transaction } from '../../../services/shared/postgres/database.ts'
import { citusUrl } from '../../support/citus.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId, requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import type { OtlpSpan } from './support/otlp.ts'

const call = (given: Partial<OtlpSpan> = {}, tokens = 1_000_000): OtlpSpan =>
  spanOf({
    name: 'chat',
    ...given,
    attributes: [
      textAttribute('gen_ai.operation.name', 'chat'),
      textAttribute('gen_ai.request.model', 'openai/gpt-4o'),
      { key: 'gen_ai.usage.input_tokens', value: { intValue: `${tokens}` } },
    ],
  })

const PRICES = readPrices(
  {
    prices: [
      { models: ['a'], until: '2026-03-29', per_million: { input: 0.15, output: 0.6 } },
      { models: ['a'], from: '2026-03-29', per_million: { input: 1.1, cached: 0.1 } },
      {
        models: ['b', 'B/c'],
        per_million: { input: 3, output: 15, cache_write: 3.75, reasoning: 0.000_000_1 },
      },
      { models: ['a', 'd'], organization: 'acme', per_million: { input: 0.07, audio_input: 9 } },
    ],
  },
  'prices',
)
const model = fc.constantFrom('', 'a', 'x/A', 'x/', 'b', 'B/c', 'd', 'none')
const anyPricedCall = fc.record({
  organization: fc.constantFrom('', 'acme'),
  requestModel: model,
  responseModel: model,
  hour: fc.nat(48),
  tokens: fc.tuple(...TOKEN_COLUMNS.map(() => fc.oneof(fc.nat(9), fc.nat(500_000_000)))),
})

describe.skipIf(citusUrl)('traces with calls', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  /** What the roll-ups have of a trace when the leader finds none of its spans any more. */
  const withoutSpans = async (
    spans: readonly OtlpSpan[],
    change: (tx: Transaction) => Promise<unknown> = async () => {},
  ): Promise<unknown[]> => {
    const traceId = spans[0]?.traceId ?? ''
    await harness.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LEADER_LOCK})`
      expect((await harness.post(toProtobuf(requestOf(...spans)))).status).toBe(200)
      await tx`delete from spans where trace_id = ${traceId}::uuid`
      await change(tx)
    })
    await harness.rolledUp()
    const traces = await harness.sql`
      select llm_calls::int as calls, input_tokens::int as tokens, cost_usd::float8 as dollars
      from traces where trace_id = ${traceId}::uuid`
    return [...traces]
  }

  it('are rolled up without a look at their spans', async () => {
    const root = spanOf()
    const { traceId = '', spanId: parentSpanId = '' } = root
    const beside = call({ traceId, parentSpanId })
    expect(await withoutSpans([root, call({ traceId, parentSpanId }), beside])).toEqual([
      { calls: 2, tokens: 2_000_000, dollars: 5 },
    ])
  })

  it.each<[string, (traceId: string) => OtlpSpan[]]>([
    [
      'a call is above another span',
      (traceId) => {
        const above = call({ traceId })
        return [above, spanOf({ traceId, parentSpanId: above.spanId ?? '' })]
      },
    ],
    [
      'calls beside each other have different names',
      (traceId) => [call({ traceId }), call({ traceId, name: 'responses.create' })],
    ],
    [
      'one of two calls beside each other has no tokens',
      (traceId) => [call({ traceId }), call({ traceId }, 0)],
    ],
  ])('are read from their spans where %s', async (_, spansOf) => {
    expect(await withoutSpans(spansOf(freshId() + freshId()))).toEqual([])
  })

  it('are read from their spans where the organization entered prices', async () => {
    const enter = (tx: Transaction) => tx`
      insert into organization_prices
      values ('gpt-4o', '', '-infinity', 'infinity', 1, 1, 1, 1, 1, 1, 1)`
    expect(await withoutSpans([call()], enter)).toEqual([])
    await harness.sql`delete from organization_prices`
  })

  it('are read from their spans where the notes have other prices', async () => {
    const change = (tx: Transaction) => tx`
      update touched_traces set roll_ups = set_byte(roll_ups, 1, 255 - get_byte(roll_ups, 1))`
    expect(await withoutSpans([call()], change)).toEqual([])
  })

  it('cost the same beside their commit as in the database', async () => {
    const prices = createCallPrices(PRICES)
    const { joins, computedCost } = priceJoins(PRICES)
    const calls = fc.sample(anyPricedCall, 500).map(({ hour, tokens, ...one }) => ({
      ...one,
      startUs: Date.UTC(2026, 2, 28, hour) * 1000 - POSTGRES_EPOCH_US,
      ...Object.fromEntries(TOKEN_COLUMNS.map((column, nr) => [column, tokens[nr]])),
      tokens: Float64Array.from(tokens),
    }))
    const costs = calls.map((one) => {
      const amounts = prices.find(one)
      return amounts ? costOf(one.tokens, amounts) : null
    })
    const columns = TOKEN_COLUMNS.map((column) => `${column} int4`).join(', ')
    const rows = await harness.sql.unsafe<{ cost: number | null }[]>(
      `select ${computedCost}::float8 as cost
      from (
        select nr, organization, nullif("requestModel", '') as request_model,
          nullif("responseModel", '') as response_model, ${TOKEN_COLUMNS.join(', ')},
          timestamptz '2000-01-01Z' + "startUs" * interval '1 microsecond' as start_time
        from rows from (jsonb_to_recordset($1::text::jsonb) as (organization text,
          "requestModel" text, "responseModel" text, "startUs" float8, ${columns}))
          with ordinality as given (organization, "requestModel", "responseModel", "startUs",
          ${TOKEN_COLUMNS.join(', ')}, nr)
      ) as call ${joins} order by nr`,
      [JSON.stringify(calls)],
    )
    const known = costs.map((cost, nr) => (Number.isSafeInteger(cost) ? cost : rows[nr]?.cost))
    expect(rows.map(({ cost }) => cost)).toEqual(known)
    expect(costs.filter((cost) => Number.isSafeInteger(cost)).length).toBeGreaterThan(100)
    expect(costs.map((cost) => cost === null)).toEqual(rows.map(({ cost }) => cost === null))
  })
})
