import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffLines } from '../../../../../services/web/console/frame/text/line-diff.ts'

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', '{', '}'), { maxLength: 30 })
  .map((lines) => lines.join('\n'))

const sideOf = (lines: ReturnType<typeof diffLines>, other: 'added' | 'removed'): string =>
  lines.flatMap(({ kind, text: line }) => (kind === other ? [] : [line])).join('\n')

/** The lines that both have, counted by the textbook. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const row = Array.from({ length: b.length + 1 }, () => 0)
  for (const line of a) {
    let diagonal = 0
    for (const [index, other] of b.entries()) {
      const above = row[index + 1] ?? 0
      row[index + 1] = line === other ? diagonal + 1 : Math.max(above, row[index] ?? 0)
      diagonal = above
    }
  }
  return row.at(-1) ?? 0
}

describe('the lines that two texts differ in', () => {
  it('give both texts again, and keep as many lines as can be kept', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after)
        expect([sideOf(lines, 'added'), sideOf(lines, 'removed')]).toEqual([before, after])
        const split = (each: string): string[] => (each === '' ? [] : each.split('\n'))
        const kept = lines.filter(({ kind }) => kind === 'same').length
        expect(kept).toBe(longestCommon(split(before), split(after)))
      }),
      { numRuns: 300 },
    )
  })

  it('are one replaced block when the texts have nothing in common, however long they are', () => {
    const many = (word: string) => Array.from({ length: 50_000 }, (_, n) => word + n).join('\n')
    const lines = diffLines(`{\n${many('a')}\n}`, `{\n${many('b')}\n}`)
    expect(lines).toHaveLength(100_002)
    expect(sideOf(lines, 'added')).toBe(`{\n${many('a')}\n}`)
  })
})
