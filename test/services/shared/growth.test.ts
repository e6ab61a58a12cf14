import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { amountOn, fillDays, growthOf, projectKept } from '../../../services/shared/growth.ts'

const line = (length: number, first: number, slope: number): number[] =>
  Array.from({ length }, (_, day) => first + day * slope)

describe('the growth of daily amounts', () => {
  it('is a straight line through the last 28 days, and reaches over today', () => {
    expect(growthOf(line(40, 100, 10))).toEqual({ today: 500, slope: 10 })
    expect(amountOn({ today: 500, slope: 10 }, 30)).toBe(800)
    expect(amountOn({ today: 5, slope: -1 }, 30)).toBe(0)
  })

  it('is not known before seven days, counted from the first one that has anything', () => {
    expect(growthOf([])).toBeUndefined()
    expect(growthOf(line(6, 1, 1))).toBeUndefined()
    expect(growthOf([...line(30, 0, 0), ...line(6, 1, 1)])).toBeUndefined()
    expect(growthOf([0, 0, ...line(7, 10, 0)])).toEqual({ today: 10, slope: 0 })
  })

  it('stays what it is while fewer than a fifth of the days are anything', () => {
    const days = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 5 })
    fc.assert(
      fc.property(days, fc.integer({ min: 0, max: 27 }), (outliers, from) => {
        const amounts = line(28, 1000, 50)
        for (const [at, amount] of outliers.entries()) amounts[(from + at * 5) % 28] = amount
        const growth = growthOf(amounts)
        expect(growth?.slope).toBeGreaterThan(10)
        expect(growth?.slope).toBeLessThan(90)
      }),
      { numRuns: 100 },
    )
  })

  it('keeps whole days for as long as is said, today among them', () => {
    const kept = projectKept({ days: line(10, 5, 0), keptDays: 14 }, 20)
    expect(kept?.slice(0, 7)).toEqual([55, 60, 65, 70, 75, 75, 75])
    expect(projectKept({ days: line(3, 5, 0), keptDays: 14 }, 20)).toBeUndefined()
    // The older ones are about to be dropped, and say nothing of the growth.
    expect(projectKept({ days: line(100, 0, 1), keptDays: 10 }, 1)?.[0]).toBe(
      line(10, 90, 1).reduce((sum, each) => sum + each, 100),
    )
  })

  it('has the same sums as dropping day by day', () => {
    const amounts = fc.array(fc.nat(1000), { minLength: 8, maxLength: 40 })
    fc.assert(
      fc.property(amounts, fc.integer({ min: 7, max: 30 }), (days, keptDays) => {
        const growth = growthOf(days.slice(-keptDays))
        const kept = projectKept({ days, keptDays }, 60)
        if (!growth) {
          expect(kept).toBeUndefined()
          return
        }
        const queue = [...days]
        for (const [day, sum] of (kept ?? []).entries()) {
          queue.push(amountOn(growth, day))
          while (queue.length > keptDays + 1) queue.shift()
          expect(sum).toBeCloseTo(
            queue.reduce((total, each) => total + each, 0),
            3,
          )
        }
      }),
      { numRuns: 50 },
    )
  })

  it('fills days without an amount with nothing, and leaves out today', () => {
    const amounts = new Map([
      [7, 3],
      [5, 2],
      [9, 4],
    ])
    expect(fillDays(amounts, 9)).toEqual([2, 0, 3, 0])
    expect(fillDays(new Map(), 9)).toEqual([])
  })
})
