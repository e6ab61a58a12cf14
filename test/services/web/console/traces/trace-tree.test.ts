import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createKeptRows } from '../../../../../services/web/console/traces/routes.ts'
import { toRowsDocument } from '../../../../../services/web/console/traces/span-row.ts'
import { sumUp } from '../../../../../services/web/console/traces/sums.ts'
import { toTree } from '../../../../../services/web/console/traces/trace-tree.ts'
import type { TreeRow } from '../../../../../services/web/console/traces/trace-tree.ts'
import type { SkeletonSpan } from '../../../../../services/web/traces/skeleton.ts'

const bare: SkeletonSpan = {
  id: 'a',
  parentId: null,
  name: 'a',
  operationKind: null,
  startNs: 0,
  durationNs: 10,
  status: 0,
  errorType: null,
  isCall: false,
  isCounted: false,
  model: null,
  agent: null,
  task: null,
  tool: null,
  inputTokens: null,
  outputTokens: null,
  costUsd: null,
  computedCostUsd: null,
}

const spanOf = (id: string, given: Partial<SkeletonSpan> = {}): SkeletonSpan => ({
  ...bare,
  id,
  name: id,
  ...given,
})

const drawn = (rows: readonly TreeRow[]): string[] =>
  rows.map(({ span, depth }) => `${' '.repeat(depth)}${span.id}`)

const odd = (rows: readonly TreeRow[]): [string, readonly string[]][] =>
  rows.flatMap(({ span, oddities }) => (oddities.length > 0 ? [[span.id, oddities]] : []))

describe('the tree of a trace', () => {
  it('has children below their parent, in the order of their start', () => {
    const { rows, beginNs, endNs } = toTree([
      spanOf('late', { parentId: 'root', startNs: 6, durationNs: 4 }),
      spanOf('root', { durationNs: 20 }),
      spanOf('inner', { parentId: 'early', startNs: 3, durationNs: 1 }),
      spanOf('early', { parentId: 'root', startNs: 2, durationNs: 3 }),
    ])
    expect(drawn(rows)).toEqual(['root', ' early', '  inner', ' late'])
    expect(rows.map(({ below }) => below)).toEqual([3, 1, 0, 0])
    expect(odd(rows)).toEqual([])
    expect([beginNs, endNs]).toEqual([0, 20])
  })

  it('shows spans whose parent is missing, who are in a circle, or whose times are strange', () => {
    const { rows } = toTree([
      spanOf('root', { durationNs: 20 }),
      spanOf('orphan', { parentId: 'gone', startNs: 1 }),
      spanOf('hanging', { parentId: 'b', startNs: 2 }),
      spanOf('b', { parentId: 'c', startNs: 3 }),
      spanOf('c', { parentId: 'b', startNs: 4 }),
      spanOf('self', { parentId: 'self', startNs: 5 }),
      spanOf('open', { parentId: 'root', startNs: 6, durationNs: null }),
      spanOf('back', { parentId: 'root', startNs: 7, durationNs: -3 }),
      spanOf('beyond', { parentId: 'root', startNs: 8, durationNs: 100 }),
    ])
    expect(rows).toHaveLength(9)
    expect(odd(rows)).toEqual([
      ['open', ['open']],
      ['back', ['negative']],
      ['beyond', ['outside']],
      ['orphan', ['orphan']],
      ['b', ['cycle']],
      ['hanging', ['outside']],
      ['c', ['outside']],
      ['self', ['cycle']],
    ])
  })

  it('gives children to the first of two roots with one id', () => {
    const twice = [spanOf('a'), spanOf('a', { startNs: 1 }), spanOf('b', { parentId: 'a' })]
    expect(drawn(toTree(twice).rows)).toEqual(['a', ' b', 'a'])
  })

  it('marks the spans that decide how long the trace takes', () => {
    const { rows } = toTree([
      spanOf('root', { durationNs: 100 }),
      spanOf('short', { parentId: 'root', startNs: 0, durationNs: 30 }),
      spanOf('long', { parentId: 'root', startNs: 0, durationNs: 50 }),
      spanOf('last', { parentId: 'root', startNs: 50, durationNs: 50 }),
    ])
    const critical = rows.filter(({ isCritical }) => isCritical).map(({ span }) => span.id)
    expect(critical).toEqual(['root', 'long', 'last'])
  })

  it('takes a chain of 100,000 spans', () => {
    const chain = Array.from({ length: 100_000 }, (_, index) =>
      spanOf(`s${index}`, { parentId: index === 0 ? null : `s${index - 1}` }),
    )
    const { rows } = toTree(chain)
    expect(rows.at(-1)).toMatchObject({ depth: 99_999, below: 0 })
    expect(rows[0]).toMatchObject({ depth: 0, below: 99_999 })
  })

  it('has each span exactly once, whatever they say of each other', () => {
    const ids = ['a', 'b', 'c', 'd', 'e']
    const spans = fc.array(
      fc.record({
        id: fc.constantFrom(...ids),
        parentId: fc.option(fc.constantFrom(...ids, 'gone'), { nil: null }),
        startNs: fc.integer({ min: 0, max: 20 }),
        durationNs: fc.option(fc.integer({ min: -5, max: 20 }), { nil: null }),
        isCounted: fc.boolean(),
        inputTokens: fc.option(fc.nat(9), { nil: null }),
      }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(spans, (given) => {
        const all = given.map((each) => ({ ...bare, ...each }))
        const tree = toTree(all)
        const { rows } = tree
        expect(rows).toHaveLength(all.length)
        expect(new Set(rows.map(({ span }) => span))).toEqual(new Set(all))
        for (const [place, { depth, below }] of rows.entries()) {
          const subtree = rows.slice(place + 1, place + 1 + below)
          expect(subtree.every((row) => row.depth > depth)).toBe(true)
          const after = rows[place + 1 + below]
          expect(after === undefined || after.depth <= depth).toBe(true)
        }
        const counted = all.filter(({ isCounted }) => isCounted)
        const tokens = counted.reduce((sum, { inputTokens }) => sum + (inputTokens ?? 0), 0)
        expect(sumUp(tree)).toMatchObject({ calls: counted.length, tokens })
      }),
      { numRuns: 300 },
    )
  })
})

describe('the rows of a page that was just shown', () => {
  const treeOf = (spans: number) =>
    toTree(Array.from({ length: spans }, (_, index) => spanOf(`s${index}`, { startNs: index })))
  const large = treeOf(2000)
  afterEach(() => vi.useRealTimers())

  it('are handed to its script once', () => {
    vi.useFakeTimers()
    const kept = createKeptRows()
    kept.keep('1/a', large)
    vi.advanceTimersByTime(1000)
    expect(kept.take('2/a')).toBeUndefined()
    expect(kept.take('1/a')).toBe(JSON.stringify(toRowsDocument(large)))
    expect(kept.take('1/a')).toBeUndefined()
  })

  it('are not kept of small traces, nor for long, nor of many pages', () => {
    vi.useFakeTimers()
    const kept = createKeptRows()
    kept.keep('1/small', treeOf(1999))
    for (const name of 'abcde') kept.keep(`1/${name}`, large)
    vi.advanceTimersByTime(9000)
    expect(kept.take('1/small')).toBeUndefined()
    expect(kept.take('1/a')).toBeUndefined()
    expect(kept.take('1/b')).toBeDefined()
    vi.advanceTimersByTime(1001)
    expect(kept.take('1/e')).toBeUndefined()
  })
})
