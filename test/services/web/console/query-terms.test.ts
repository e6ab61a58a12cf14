import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withTerms } from '../../../../services/shared/query-terms.ts'
import {
  filterParameters,
  listAddress,
  readListQuery,
  TRACE_KEYS,
} from '../../../../services/web/console/traces/list-query.ts'
import {
  queryTextOf,
  readRunsQuery,
  typedOf,
} from '../../../../services/web/console/runs/list-query.ts'

const read = (text: string) =>
  Object.fromEntries(withTerms(new URLSearchParams({ text }), TRACE_KEYS))

describe('a query box', () => {
  it.each<[string, Record<string, string>]>([
    ['status:error', { status: 'error' }],
    ['status:Failed model:gpt*', { status: 'error', model: 'gpt*' }],
    ['Model:gpt-4o out of memory', { model: 'gpt-4o', text: 'out of memory' }],
    ['a "status:error" user:ann', { text: '"a status:error"', user: 'ann' }],
    ['task:"write the report" cost>0.1', { task: 'write the report', min_cost_usd: '0.1' }],
    ['duration>2.5s', { min_duration_ms: '2500' }],
    ['duration>=3m tokens>100', { min_duration_ms: '180000', min_tokens: '100' }],
    ['attribute:a.b=c', { attribute: 'a.b=c' }],
    ['cost>much', { min_cost_usd: 'much' }],
  ])('reads %s', (text, parameters) => {
    expect(read(text)).toEqual(parameters)
  })

  it.each([
    'https://example.com:80',
    '{"name": "x"}',
    'a  "b"',
    'status:',
    '"cost"',
    'rate>5',
    '"status:ok"',
  ])('leaves the text %s as it is', (text) => {
    expect(read(text)).toEqual({ text })
  })

  it('ends in the address of the same list, which is read as itself', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('status:ok', 'model:m', 'cost>1', '"tool:x"', 'text', 'a b'), {
          maxLength: 5,
        }),
        (parts) => {
          const query = readListQuery(new URLSearchParams({ text: parts.join(' ') }))
          const again = readListQuery(new URL(listAddress(query), 'http://x').searchParams)
          expect(again).toEqual(query)
        },
      ),
      { numRuns: 100 },
    )
  })

  it('looks for a text in quotation marks that looks like a key', () => {
    const looked = (text: string) =>
      filterParameters(readListQuery(new URLSearchParams({ text })), 0).get('text')
    expect(looked('"status:error"')).toBe('status:error')
    expect(looked('"a quote"')).toBe('"a quote"')
  })

  it('has keys of its own in the list of runs', () => {
    expect(readRunsQuery(new URLSearchParams({ text: 'status:error by:ann late' }))).toMatchObject({
      status: 'error',
      starter: 'ann',
      text: 'late',
    })
    const typed = 'model:"a b*" tokens>10 duration>1.5s cost>0.25 status:failed late'
    const query = readRunsQuery(new URLSearchParams({ text: typed }))
    expect(query).toMatchObject({ status: 'error', minDurationMs: 1500, minCostUsd: 0.25 })
    const address = new URLSearchParams(queryTextOf(new URLSearchParams({ text: typed })))
    expect(readRunsQuery(address)).toEqual(query)
    expect(typedOf(query)).toBe('model:"a b*" tokens>10 duration>1500ms cost>0.25 late')
  })

  it('leaves out what no run can have', () => {
    const query = readRunsQuery(new URLSearchParams({ text: 'cost>much status:odd since:now' }))
    expect(Object.values(query).filter((each) => each !== undefined)).toEqual([])
  })
})
