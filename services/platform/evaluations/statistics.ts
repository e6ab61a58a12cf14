/** The 97.5th percentile of the normal distribution: intervals have 95 %. */
const Z = 1.959963984540054
const RESAMPLES = 2000
/** With more cases the bootstrap is as good as normal, and takes longer. */
const RESAMPLED_MAX = 2000
/** Each comparison is made with the same numbers, so that the same counts say the same. */
const SEED = 0x5eed

/** A value with its 95 % interval. */
export interface Estimate {
  readonly value: number
  readonly low: number
  readonly high: number
}

/** Estimates a share by Wilson's score interval. `of` is at least 1. */
export function wilson(passed: number, of: number): Estimate {
  const share = passed / of
  const scale = 1 + Z ** 2 / of
  const centre = (share + Z ** 2 / (2 * of)) / scale
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / of + Z ** 2 / (4 * of ** 2))
  const low = passed === 0 ? 0 : Math.max(0, centre - half)
  return { value: share, low, high: passed === of ? 1 : Math.min(1, centre + half) }
}

/** Cases that one of two versions passes and the other one does not, of all that both performed. */
interface Paired {
  readonly better: number
  readonly worse: number
  readonly of: number
}

/**
 * Estimates by how much a version passes a larger share than another one on the same cases: a
 * paired bootstrap, seeded, whose percentiles are those of Student's distribution for few cases.
 * Where no case changes side it knows nothing of such cases, so that the interval is that of a
 * share of which none was seen. `of` is at least 1.
 */
export function pairedDifference({ better, worse, of }: Paired): Estimate {
  const value = (better - worse) / of
  if (better + worse === 0) {
    const { high } = wilson(0, of)
    return { value, low: -high, high }
  }
  if (of > RESAMPLED_MAX) {
    const half = Z * Math.sqrt(((better + worse) / of - value ** 2) / of)
    return { value, low: Math.max(-1, value - half), high: Math.min(1, value + half) }
  }
  const values = resample({ better, worse, of })
  const tail = normalShare(-studentQuantile(of - 1) * Math.sqrt(of / Math.max(1, of - 1)))
  const at = (share: number): number =>
    (values[Math.min(RESAMPLES - 1, Math.max(0, Math.floor(share * RESAMPLES)))] ?? 0) / of
  return { value, low: at(tail), high: at(1 - tail) }
}

function resample({ better, worse, of }: Paired): Int32Array {
  const random = createRandom(SEED)
  const sums = new Int32Array(RESAMPLES)
  const [ups, changed] = [better / of, (better + worse) / of]
  for (let index = 0; index < RESAMPLES; index += 1) {
    let sum = 0
    for (let drawn = 0; drawn < of; drawn += 1) {
      const at = random()
      if (at < ups) sum += 1
      else if (at < changed) sum -= 1
    }
    sums[index] = sum
  }
  return sums.sort()
}

/** Mulberry32: numbers from 0 to 1, the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** The 97.5th percentile of Student's distribution, by its expansion around the normal one. */
function studentQuantile(degrees: number): number {
  const free = Math.max(1, degrees)
  const first = (Z ** 3 + Z) / (4 * free)
  const second = (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * free ** 2)
  return Z + first + second
}

/** The share of the normal distribution below a value up to 0 (Abramowitz and Stegun, 26.2.17). */
function normalShare(value: number): number {
  const t = 1 / (1 + 0.2316419 * -value)
  const density = Math.exp(-(value ** 2) / 2) / Math.sqrt(2 * Math.PI)
  const series = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429]
  return density * series.reduceRight((sum, factor) => (sum + factor) * t, 0)
}
