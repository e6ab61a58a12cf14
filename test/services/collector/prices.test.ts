import { writeFileSync } from 'node:fs'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadPrices } from '../../../services/shared/prices/load-prices.ts'
import { readPrices } from '../../../services/shared/prices/price-table.ts'

const price = (given: object) => ({ models: ['m'], per_million: { input: 1, output: 2 }, ...given })
const read = (...prices: object[]) => readPrices({ prices }, 'prices.json')

const VENDORS = [
  'platform.claude.com',
  'docs.anthropic.com',
  'developers.openai.com',
  'platform.openai.com',
  'ai.google.dev',
]

describe('the table of prices', () => {
  it('is shipped, each price with its source, its day, and a mark where it is a copy', async () => {
    for (const { source = '', copies, readOn } of await loadPrices(undefined)) {
      expect(VENDORS).toContain(new URL(copies ?? source).hostname)
      expect(source).toMatch(/^https:\/\//)
      expect(readOn).toMatch(/^2026-/)
    }
  })

  it('takes periods that follow each other, for all and for an organization', () => {
    const periods = [{ until: '2026-01-01' }, { from: '2026-01-01', until: '2026-06-01' }]
    const own = price({ organization: 'acme', from: '2026-03-01' })
    expect(read(...periods.map(price), own)).toHaveLength(3)
  })

  it.each([
    [
      'a hole',
      [{ until: '2026-01-01' }, { from: '2026-02-01' }],
      'm: no price from 2026-01-01 to 2026-02-01',
    ],
    [
      'an overlap',
      [{ until: '2026-03-01' }, { from: '2026-02-01' }],
      'm: two prices from 2026-02-01 on',
    ],
    ['the same twice', [{}, {}], 'm: two prices from the beginning on'],
    [
      'an end before the beginning',
      [{ from: '2026-02-01', until: '2026-01-01' }],
      'm: a price ends (2026-01-01) before it begins (2026-02-01)',
    ],
    [
      'an overlap for an organization',
      [
        { organization: 'acme', until: '2026-03-01' },
        { organization: 'acme', from: '2026-02-01' },
      ],
      'm of acme: two prices from 2026-02-01 on',
    ],
    ['a day that is none', [{ from: '2026-02-31' }], 'prices.0.from: must be a day'],
    ['a negative price', [{ per_million: { input: -1 } }], 'must not be negative'],
    ['an absurd price', [{ per_million: { input: 1e6 } }], 'must be 100000 dollars or less'],
    ['an unknown kind', [{ per_million: { input: 1, smell: 2 } }], 'prices.0.per_million.smell'],
  ])('is refused with %s, in words', (_, given, message) => {
    expect(() => read(...given.map(price))).toThrow(message)
    expect(() => read(...given.map(price))).toThrow('The prices in prices.json are not valid')
  })

  it('gives a model of the file its prices from there alone', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'prices-')), 'prices.json')
    const own = { models: ['GPT-4o'], per_million: { input: 1, output: 2 } }
    writeFileSync(file, JSON.stringify({ prices: [own] }))
    const prices = await loadPrices(file)
    const found = prices.filter(({ models }) => models.includes('gpt-4o'))
    expect(found).toEqual([expect.objectContaining({ perMillion: { input: 1, output: 2 } })])
    expect(prices.some(({ models }) => models.includes('gpt-4o-2024-08-06'))).toBe(true)
  })

  it('is refused when the file is missing or no JSON', async () => {
    await expect(loadPrices('/nowhere/prices.json')).rejects.toThrow(
      'COLLECTOR_PRICES_FILE (/nowhere/prices.json) cannot be read',
    )
  })
})
