import type { Quantiles } from '../../../shared/trace-answers/lists.ts'
import { RANGES_PER_DOUBLING } from '../../store/roll-ups/trace-days.ts'

/** Durations in a range of them. */
interface Bucket {
  /** Exclusive; 0 for the first. */
  readonly fromMs: number
  /** Infinity for the last. */
  readonly toMs: number
  readonly count: number
}

/** As if the durations within each bucket were spread evenly. */
export function quantilesOf(buckets: readonly Bucket[]): Quantiles {
  const inOrder = buckets.toSorted((a, b) => a.toMs - b.toMs)
  return { p50: quantileOf(inOrder, 0.5), p95: quantileOf(inOrder, 0.95) }
}

function quantileOf(buckets: readonly Bucket[], share: number): number | null {
  const total = buckets.reduce((sum, { count }) => sum + count, 0)
  let rest = total * share
  for (const { fromMs, toMs, count } of buckets) {
    if (count > 0 && rest <= count) {
      // Above the highest bound nothing is known but that bound.
      return round(toMs === Infinity ? fromMs : fromMs + (rest / count) * (toMs - fromMs))
    }
    rest -= count
  }
  return null
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000

/** The durations in the range of this number, as `DURATION_RANGE` numbers them. */
export const doublingBucket = (number: number, count: number): Bucket => ({
  fromMs: 2 ** (number / RANGES_PER_DOUBLING),
  toMs: 2 ** ((number + 1) / RANGES_PER_DOUBLING),
  count,
})
