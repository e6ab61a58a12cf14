import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createModelPrice,
  listBudgetedPrices,
  listOwnPrices,
} from '../../../../services/platform/budgets/model-prices.ts'
import type { ModelPriceFields } from '../../../../services/platform/budgets/model-prices.ts'
import { setBudget } from '../../../../services/platform/budgets/budgets.ts'
import { findPrice, pricesOfTiers } from '../../../../services/shared/prices/find-price.ts'
import { loadPrices } from '../../../../services/shared/prices/load-prices.ts'
import type { Price } from '../../../../services/shared/prices/price-table.ts'
import { readPrices } from '../../../../services/shared/prices/price-table.ts'
import { useOneAutomation } from '../one-automation.ts'

const platform = useOneAutomation()

beforeEach(async () => {
  await platform.sql`delete from model_prices`
})

const day = (at: number): string => `2026-01-0${at}`

describe('the prices that an organization entered', () => {
  it('are one for each model and day: that which began last', async () => {
    const { sql, automation } = platform
    const { organizationId } = automation
    const days = fc.option(fc.integer({ min: 1, max: 6 }), { nil: null })
    const price = fc
      .tuple(fc.subarray(['a', 'b'], { minLength: 1 }), days, days)
      .filter(([, from, until]) => from === null || until === null || from < until)
    await fc.assert(
      fc.asyncProperty(fc.array(price, { maxLength: 5 }), async (given) => {
        await sql`delete from model_prices`
        const fields = given.map(([models, from, until], at): ModelPriceFields => ({
          name: `${at}`,
          models,
          begins: from === null ? null : day(from),
          ends: until === null ? null : day(until),
          perMillion: { input: at },
        }))
        for (const one of fields) await createModelPrice(sql, organizationId, one)
        const table = await listOwnPrices(sql, organizationId)
        expect(readPrices({ prices: table.map(asFile) }, 'them', { mayHaveHoles: true })).toEqual(
          table,
        )
        for (const model of ['a', 'b']) {
          for (const at of [1, 3, 5, 7]) {
            const valid = fields
              .filter(({ models }) => models.includes(model))
              .filter(({ begins, ends }) => (begins ?? '') <= day(at) && day(at) < (ends ?? '9'))
              .toSorted((a, b) => ((a.begins ?? '') < (b.begins ?? '') ? -1 : 1))
            const organization = String(organizationId)
            const found = findPrice(table, { model, organization, at: new Date(day(at)) })
            const begun = valid.at(-1)?.begins
            const last = valid.filter(({ begins }) => begins === begun).at(-1)
            expect(found?.input).toBe(last?.perMillion.input)
          }
        }
      }),
      { numRuns: 30 },
    )
  })

  it('come before the shipped price of a service tier, also that of the model alone', async () => {
    const shipped = await loadPrices(undefined)
    const own = (model: string, input: number): Price => ({
      models: [model],
      organization: '1',
      perMillion: { input },
      readOn: undefined,
    })
    const of = { model: 'openai/gpt-5.4', tier: 'flex', organization: '1', at: new Date() }
    const inputs = [[], [own('gpt-5.4', 2)], [own('gpt-5.4', 2), own('gpt-5.4@flex', 1)]].map(
      (prices) => [
        findPrice([...prices, ...shipped], of)?.input,
        pricesOfTiers([...prices, ...shipped], of)['flex']?.input,
      ],
    )
    expect(inputs).toEqual([
      [1.25, 1.25],
      [2, 2],
      [1, 1],
    ])
    expect(findPrice(shipped, { ...of, tier: 'priority' })?.input).toBe(2.5)
    expect(findPrice(shipped, { ...of, tier: undefined })?.input).toBe(2.5)
  })

  it('reach workers where the organization has a budget', async () => {
    const { sql, automation } = platform
    const { organizationId } = automation
    const perMillion = { input: 1, output: 2 }
    const fields = { name: 'Ours', models: ['a'], begins: null, ends: null, perMillion }
    await createModelPrice(sql, organizationId, fields)
    expect(await listBudgetedPrices(sql)).toEqual([])
    const key = { organizationId, deploymentId: null, period: 'day' } as const
    await setBudget(sql, key, { tokensMax: 1, usdMax: null, unpriced: 'refuse' })
    expect(await listBudgetedPrices(sql)).toMatchObject([{ models: ['a'], perMillion }])
  })
})

const asFile = ({ models, organization, from, until, perMillion }: Price) => ({
  models,
  organization,
  from,
  until,
  per_million: perMillion,
})
