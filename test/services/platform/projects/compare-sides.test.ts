import { describe, expect, it } from 'vitest'
import { createRandom } from '../../../../services/platform/evaluations/statistics.ts'
import { compareSides } from '../../../../services/platform/projects/compare-sides.ts'
import type { Drawn } from '../../../../services/platform/projects/compare-sides.ts'
import { few, isLong } from '../../../support/long.ts'

const ERROR = 0.05
const RELEASES = isLong ? 2000 : 200
/** Of a rule of 1 % with three measures, as the manual's table has it. */
const MANUAL = { error: 0.01 / 3, margin: 0.05, runs: 2000, releases: isLong ? 300 : 30 }

interface World {
  readonly runs: number
  /** The probability with which a run is drawn to be of the new version. */
  readonly share: (index: number) => number
  readonly failures: (index: number, isNew: boolean) => number
}

/** Draws the runs of a release, of which each look of a look after each run is a prefix. */
function draw({ runs, share, failures }: World, seed: number): Drawn[] {
  const random = createRandom(seed)
  return Array.from({ length: runs }, (_, index) => {
    const probability = share(index)
    const isNew = random() < probability
    return { isNew, probability, value: Number(random() < failures(index, isNew)) }
  })
}

/** The share of releases in which a look after any run finds more than the margin. */
function alarms(world: World, margin: number): number {
  const found = Array.from({ length: RELEASES }, (_, seed) => {
    const { low } = compareSides(draw(world, seed + 1), { error: ERROR, prior: 0 })
    return low > margin
  })
  return found.filter(Boolean).length / RELEASES
}

const tenth = () => 0.1
const isOutage = (index: number) => index % 100 >= 80

describe('a version that is no worse than its margin', () => {
  it.each<[string, World, number]>([
    ['fails as often', { runs: 400, share: tenth, failures: () => 0.1 }, 0],
    ['fails always, as the other one', { runs: 200, share: tenth, failures: () => 1 }, 0],
    ['has half of the calls', { runs: 400, share: () => 0.5, failures: () => 0.3 }, 0],
    ['has one of 100 calls', { runs: 400, share: () => 0.01, failures: () => 0.3 }, 0],
    [
      'is worse by as much as is allowed',
      { runs: 400, share: tenth, failures: (_, isNew) => (isNew ? 0.15 : 0.1) },
      0.05,
    ],
    [
      'suffers from outages of both',
      { runs: 400, share: tenth, failures: (index) => (isOutage(index) ? 0.9 : 0.02) },
      0,
    ],
    [
      'gets a larger share while a provider fails',
      {
        runs: 400,
        share: (index) => (index < 200 ? 0.05 : 0.5),
        failures: (index) => (index < 200 ? 0.02 : 0.4),
      },
      0,
    ],
  ])('is taken back in no more releases than stated, when it %s', (_, world, margin) => {
    expect(alarms(world, margin)).toBeLessThanOrEqual(ERROR)
  })
})

describe('a version that is worse', () => {
  it('is found, and soon when it is much worse', () => {
    const failures = (_: number, isNew: boolean) => (isNew ? 0.5 : 0.02)
    expect(alarms({ runs: 200, share: tenth, failures }, 0.05)).toBeGreaterThan(0.9)
    const always = (_: number, isNew: boolean) => Number(isNew)
    expect(alarms({ runs: 60, share: tenth, failures: always }, 0.05)).toBeGreaterThan(0.9)
  })
})

/** Share, failures before and now, and the part of the releases that the manual says. */
const POWERS: readonly (readonly [number, number, number, number])[] = [
  [0.1, 0.02, 0.5, 1],
  [0.1, 0.02, 0.02, 0],
  [0.1, 0.2, 0.2, 0],
  [0.5, 0.2, 0.2, 0],
  [0.1, 0.1, 0.15, 0],
  [0.1, 0.02, 0.15, 0.54],
  [0.1, 0.02, 0.3, 1],
  [0.1, 0.02, 1, 1],
  [0.01, 0.02, 0.5, 0.85],
  [0.5, 0.02, 0.15, 0.99],
  [0.5, 0.02, 0.5, 1],
]

describe('what the manual says of how often a version is taken back', () => {
  it.each(few(POWERS, 2))(
    'is so with a share of %d, failures of %d and now of %d: %d',
    (...row) => {
      const [share, before, after, said] = row
      const { error, margin, runs, releases } = MANUAL
      const failures = (_: number, isNew: boolean) => (isNew ? after : before)
      const world = { runs, share: () => share, failures }
      const found = Array.from({ length: releases }, (_, seed) => {
        const { low } = compareSides(draw(world, seed + 1), { error, prior: 0 })
        return low > margin
      }).filter(Boolean).length
      const power = `${((100 * found) / releases).toFixed(1)} % of ${releases} releases`
      if (isLong) console.log(`${share} of the calls, ${before} to ${after}: ${power}`)
      if (said === 0) expect(found / releases).toBeLessThanOrEqual(error)
      // Three standard deviations of the 300 releases of the manual and of these.
      const spread = 3 * Math.sqrt(said * (1 - said) * (1 / 300 + 1 / releases))
      expect(Math.abs(found / releases - said)).toBeLessThanOrEqual(spread + 0.02)
    },
  )
})

describe('the ends of an interval', () => {
  it('are all that is possible before the first run', () => {
    const { low, high } = compareSides([], { error: ERROR, prior: 0 })
    expect([low, high]).toEqual([-1, 1])
  })

  it('only come nearer, and change places with the versions', () => {
    const world = { runs: 300, share: () => 0.5, failures: () => 0.2 }
    const runs = draw(world, 1)
    const at = (length: number) => compareSides(runs.slice(0, length), { error: ERROR, prior: 0.5 })
    const [early, late] = [at(100), at(300)]
    expect(late.low).toBeGreaterThanOrEqual(early.low)
    expect(late.high).toBeLessThanOrEqual(early.high)
    const swapped = runs.map((run) => ({ ...run, isNew: !run.isNew }))
    const other = compareSides(swapped, { error: ERROR, prior: 0.5 })
    expect(other.low).toBeCloseTo(-late.high, 4)
    expect(other.high).toBeCloseTo(-late.low, 4)
  })
})
