import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createRandom,
  pairedDifference,
  wilson,
} from '../../../../services/platform/evaluations/statistics.ts'
import { few, isLong } from '../../../support/long.ts'

/** Each outcome of `n` draws that is more likely than one in a billion, with its probability. */
function* binomial(n: number, p: number): Generator<readonly [count: number, chance: number]> {
  let log = n * Math.log(1 - p)
  for (let k = 0; k <= n; k += 1) {
    if (log > -21) yield [k, Math.exp(log)]
    log += Math.log((n - k) / (k + 1)) + Math.log(p / (1 - p))
  }
}

function coverageOfShare(n: number, p: number): number {
  let sum = 0
  for (const [passed, chance] of binomial(n, p)) {
    const { low, high } = wilson(passed, n)
    if (low <= p && p <= high) sum += chance
  }
  return sum
}

/** Outcomes that are rarer count as missed. */
const LEAST_CHANCE = isLong ? 1e-6 : 1e-4

/** How often the interval has the true difference, for shares of cases that change side. */
function coverageOfDifference(n: number, up: number, down: number): number {
  let sum = 0
  for (const [better, chance] of binomial(n, up)) {
    for (const [worse, rest] of binomial(n - better, down / (1 - up))) {
      if (chance * rest < LEAST_CHANCE) continue
      const { low, high } = pairedDifference({ better, worse, of: n })
      if (low <= up - down && up - down <= high) sum += chance * rest
    }
  }
  return sum
}

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`

const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / values.length

const SIZES = few([20, 100, 1000, 10, 50, 5000], 3)
/** Shares of cases that become better and worse. */
const CHANGES = few(
  [
    [0.2, 0.1],
    [0.1, 0.1],
    [0.3, 0.3],
    [0.15, 0.05],
    [0.05, 0.05],
    [0.37, 0.11],
  ] as const,
  2,
)

describe('the interval of a share', () => {
  it.each(SIZES)('has the true share 95 times of 100, over all shares, with %i cases', (n) => {
    const shares = Array.from({ length: 97 }, (_, index) => 0.02 + index * 0.01)
    const covered = shares.map((share) => coverageOfShare(n, share))
    expect(Math.abs(mean(covered) - 0.95)).toBeLessThan(0.015 - (n >= 20 ? 0.005 : 0))
    expect(Math.min(...covered)).toBeGreaterThan(0.83)
  })

  it('has the share, within 0 and 1, and is narrower with more cases', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 0, max: 1000 }), (n, k) => {
        const passed = k % (n + 1)
        const { value, low, high } = wilson(passed, n)
        expect([0 <= low, low <= value, value <= high, high <= 1]).not.toContain(false)
        const more = wilson(passed * 4, n * 4)
        expect(more.high - more.low).toBeLessThan(high - low)
      }),
    )
  })
})

describe('the interval of a difference', { timeout: isLong ? 900_000 : 60_000 }, () => {
  it.each(few([30, 50, 100, 200], 1))('has the true one 95 times of 100, with %i cases', (n) => {
    const covered = CHANGES.map(([up, down]) => coverageOfDifference(n, up, down))
    if (isLong) {
      const shares = covered.map((each, index) => `${CHANGES[index]?.join('/')} ${percent(each)}`)
      console.log(`${n} paired cases: ${percent(mean(covered))} (${shares.join(', ')})`)
    }
    expect(Math.abs(mean(covered) - 0.95)).toBeLessThanOrEqual(0.01)
    expect(Math.min(...covered)).toBeGreaterThan(0.93)
    if (n < 200) return
    for (const each of covered) expect(Math.abs(each - 0.95)).toBeLessThanOrEqual(0.01)
  })

  it('has it as often with as many cases as the bootstrap is not made for', () => {
    const random = createRandom(1)
    const [of, up, down] = [3000, 0.1, 0.05]
    const tries = isLong ? 10_000 : 400
    let covered = 0
    for (let index = 0; index < tries; index += 1) {
      const paired = { better: 0, worse: 0, of }
      for (let drawn = 0; drawn < of; drawn += 1) {
        const at = random()
        if (at < up) paired.better += 1
        else if (at < up + down) paired.worse += 1
      }
      const { low, high } = pairedDifference(paired)
      if (low <= up - down && up - down <= high) covered += 1
    }
    expect(Math.abs(covered / tries - 0.95)).toBeLessThan(isLong ? 0.01 : 0.03)
  })

  it('is the same for the same counts, and turns with the versions', () => {
    const one = pairedDifference({ better: 9, worse: 3, of: 60 })
    expect(pairedDifference({ better: 9, worse: 3, of: 60 })).toEqual(one)
    expect(one.low).toBeLessThan(0.1)
    expect(one.high).toBeGreaterThan(0.1)
    const turned = pairedDifference({ better: 3, worse: 9, of: 60 })
    expect(turned.value).toBe(-one.value)
    expect(Math.abs(turned.low + one.high)).toBeLessThan(0.04)
  })

  it('does not say that nothing can change where nothing did', () => {
    const { value, low, high } = pairedDifference({ better: 0, worse: 0, of: 10 })
    expect([value, low === -high, high > 0.2]).toEqual([0, true, true])
    expect(pairedDifference({ better: 1, worse: 0, of: 1 })).toMatchObject({ value: 1, high: 1 })
  })
})
