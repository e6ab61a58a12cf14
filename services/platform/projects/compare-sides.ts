/**
 * The parts of the largest bet that are made beside each other, each with an equal part of the
 * stake: small ones win by small differences, large ones soon by large differences.
 */
const BETS: readonly number[] = [0.9, 0.6, 0.4, 0.25, 0.15, 0.08, 0.04, 0.02]
/** Halvings of the range of differences: an end of an interval is exact to a thirty-thousandth. */
const STEPS = 16

/** What was seen of a run, whose version was drawn. */
export interface Drawn {
  /** It is of the version that has the share. */
  readonly isNew: boolean
  /** The probability with which it was drawn to be, above 0 and below 1. */
  readonly probability: number
  /** From 0 to 1, the higher the worse. */
  readonly value: number
}

/** By how much the values of the new version are higher. */
export interface Difference {
  /** Each end holds at all times together, but for the probability `error`. */
  readonly low: number
  readonly high: number
}

interface Weighed {
  /** Estimates of the difference, one by each run. */
  readonly values: Float64Array
  /** No estimate is below the negative of this, as was known before the run. */
  readonly depths: Float64Array
}

/**
 * Compares the runs of two versions in the order in which they were seen: a confidence sequence of
 * the difference of their means, by betting against each difference. It holds whatever happens to
 * both versions alike at whatever time, and however often it is looked at; docs/release-tests.md
 * has the mathematics. `prior` is the value that is expected of the first run.
 */
export function compareSides(
  runs: readonly Drawn[],
  { error, prior }: { readonly error: number; readonly prior: number },
): Difference {
  const up = weigh(runs, prior)
  const down = weigh(
    runs.map(({ value, ...run }) => ({ ...run, value: 1 - value })),
    1 - prior,
  )
  return { low: lowerEnd(up, 1 / error), high: -lowerEnd(down, 1 / error) }
}

/**
 * Weighs each run by the probability of its draw. What is taken off first, the mean of the runs
 * before, changes no expectation, as it is known before the draw; it makes them vary less.
 */
function weigh(runs: readonly Drawn[], prior: number): Weighed {
  const values = new Float64Array(runs.length)
  const depths = new Float64Array(runs.length)
  let sum = prior
  for (const [index, { isNew, probability, value }] of runs.entries()) {
    const mean = sum / (index + 1)
    const weight = isNew ? 1 / probability : -1 / (1 - probability)
    values[index] = (value - mean) * weight
    depths[index] = Math.max(mean / probability, (1 - mean) / (1 - probability))
    sum += value
  }
  return { values, depths }
}

/** Returns the highest difference against which the bets have ever won what was needed. */
function lowerEnd(weighed: Weighed, needed: number): number {
  let [low, high] = [-1, 1]
  for (let step = 0; step < STEPS; step += 1) {
    const middle = (low + high) / 2
    if (isRefuted(weighed, middle, needed)) low = middle
    else high = middle
  }
  return low
}

/**
 * Returns true once the stakes of bets that the difference is above `bound` have grown so much. If
 * it is not, they grow in no expectation, and so ever so much with the probability `1 / needed` at
 * the most (Ville). The bound against which they grow is above each one below it as well: the
 * factors fall with it.
 */
function isRefuted({ values, depths }: Weighed, bound: number, needed: number): boolean {
  const stakes = new Float64Array(BETS.length).fill(1 / BETS.length)
  // By their places: an iterator takes several times as long.
  for (let index = 0; index < values.length; index += 1) {
    const gain = ((values[index] ?? 0) - bound) / ((depths[index] ?? 1) + bound)
    let all = 0
    for (let bet = 0; bet < stakes.length; bet += 1) {
      const stake = (stakes[bet] ?? 0) * (1 + (BETS[bet] ?? 0) * gain)
      stakes[bet] = stake
      all += stake
    }
    if (all >= needed) return true
  }
  return false
}
