import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CollectorTokenOptions } from '../../../services/shared/collector-token.ts'
import type { Price } from '../../../services/shared/prices/price-table.ts'
import { openOwnPrices } from '../../../services/web/traces/own-prices.ts'
import { createHarness, SECRET } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { requestOf, spanOf, textAttribute, toProtobuf } from './support/otlp.ts'
import { authorizationOf, tenantOf } from './support/tokens.ts'

/** Organizations of the platform are numbers. */
const [OWN, OTHER] = [7, 8]

describe('prices that an organization entered', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness()
  })
  afterAll(() => harness.stop())

  const enter = (...prices: Partial<Price>[]): Promise<void> => {
    const send = openOwnPrices({ collectorUrl: harness.collector.url, secret: SECRET })
    const all = prices.map((price) => ({ models: ['gpt-4o'], perMillion: { input: 1 }, ...price }))
    return send(
      OWN,
      all.map((price) => ({ ...price, readOn: undefined })),
    )
  }
  /** What a call of a million tokens costs, in lists and on the page of its span. */
  const costsOf = async (organization: number, model: string): Promise<unknown[]> => {
    const tenant = tenantOf(harness, String(organization))
    const span = spanOf({
      attributes: [
        textAttribute('gen_ai.operation.name', 'chat'),
        textAttribute('gen_ai.request.model', model),
        { key: 'gen_ai.usage.input_tokens', value: { intValue: '1000000' } },
      ],
    })
    await tenant.send(toProtobuf(requestOf(span)))
    await harness.rolledUp()
    const { text: list } = await tenant.ask('/api/traces')
    const { traces } = JSON.parse(list) as { traces: { trace_id: string; cost_usd: unknown }[] }
    const { text: page } = await tenant.ask(`/api/traces/${span.traceId}/spans/${span.spanId}`)
    const { columns } = JSON.parse(page) as { columns: Record<string, unknown> }
    return [
      traces.find(({ trace_id }) => trace_id === span.traceId)?.cost_usd,
      columns['computed_cost_usd'] ?? null,
    ]
  }

  it('come before the table of prices, for that organization alone', async () => {
    expect(await costsOf(OWN, 'gpt-4o')).toEqual([2.5, 2.5])
    expect(await costsOf(OWN, 'our-model')).toEqual([null, null])
    await enter({}, { models: ['our-model'], perMillion: { input: 0.25 } })
    expect(await costsOf(OWN, 'openai/GPT-4o')).toEqual([1, 1])
    expect(await costsOf(OWN, 'our-model')).toEqual([0.25, 0.25])
    expect(await costsOf(OTHER, 'gpt-4o')).toEqual([2.5, 2.5])
    expect(await costsOf(OTHER, 'our-model')).toEqual([null, null])
  })

  it('apply on their days, are replaced as a whole, and end with an empty list', async () => {
    await enter({ until: '2026-01-01', perMillion: { input: 9 } }, { from: '2026-02-01' })
    expect(await costsOf(OWN, 'gpt-4o')).toEqual([1, 1])
    await enter({ from: '9999-01-01' })
    expect(await costsOf(OWN, 'gpt-4o')).toEqual([2.5, 2.5])
    await enter()
    expect(await harness.sql`select from organization_prices`).toHaveLength(0)
  })

  const put = async (body: unknown, claims: CollectorTokenOptions) => {
    const response = await fetch(`${harness.collector.url}/api/prices`, {
      method: 'PUT',
      headers: {
        authorization: await authorizationOf(claims),
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  }

  it.each<[string, CollectorTokenOptions]>([
    ['reads and writes', { scopes: ['traces:read', 'traces:write'], organization: String(OTHER) }],
    ['revokes', { scopes: ['tokens:revoke'] }],
    ['says nothing', { organization: String(OWN) }],
  ])('are not taken with a token that %s', async (_, claims) => {
    expect((await put({ prices: [] }, claims)).status).toBe(403)
  })

  const price = { models: ['m'], per_million: { input: 1 } }
  it.each([
    ['no prices', {}, 'prices'],
    ['those of another one', { prices: [{ ...price, organization: '8' }] }, 'that of the token'],
    ['two a day', { prices: [price, { ...price, from: '2026-01-01' }] }, 'm: two prices from'],
    ['a negative one', { prices: [{ ...price, per_million: { input: -1 } }] }, 'not be negative'],
    ['a body without end', { prices: [{ ...price, source: 'x'.repeat(2 << 20) }] }, 'bytes'],
  ])('are refused as a list with %s', async (_, body, words) => {
    const claims = { scopes: ['prices:write'], organization: String(OWN) } as const
    const { status, text } = await put(body, claims)
    expect([400, 413]).toContain(status)
    expect(text).toContain(words)
  })
})
