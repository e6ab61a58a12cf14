/** The days that a growth is read from: four weeks, so that each day of the week counts alike. */
const WINDOW_DAYS = 28
/** Fewer days say nothing about the next month. */
const DAYS_MIN = 7

/** A straight line through daily amounts; day 0 is today, of which only a part is over. */
interface Growth {
  readonly today: number
  /** What each day adds to the amount of the day before. */
  readonly slope: number
}

/**
 * Returns the growth of the last 28 whole days, the oldest first, by Theil and Sen: the median of
 * the slopes between any two days, which a third of the days may miss by any amount. Undefined for
 * fewer than seven days since the first one that has anything.
 */
export function growthOf(days: readonly number[]): Growth | undefined {
  const first = days.findIndex((amount) => amount > 0)
  const seen = first < 0 ? [] : days.slice(first).slice(-WINDOW_DAYS)
  if (seen.length < DAYS_MIN) return undefined
  const slopes = seen.flatMap((amount, at) =>
    seen.slice(at + 1).map((later, ahead) => (later - amount) / (ahead + 1)),
  )
  const slope = median(slopes)
  return { today: median(seen.map((amount, at) => amount + slope * (seen.length - at))), slope }
}

/** The amount of the day that is so many days ahead, never below zero. */
export const amountOn = ({ today, slope }: Growth, daysAhead: number): number =>
  Math.max(0, today + slope * daysAhead)

/** The median of numbers; 0 of none. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const upper = sorted[sorted.length >> 1] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[(sorted.length >> 1) - 1] ?? 0) + upper) / 2
}

/** Daily amounts that are kept for so many days. */
interface KeptDays {
  /** Of whole days, the oldest first, yesterday the last. */
  readonly days: readonly number[]
  readonly keptDays: number
}

/**
 * Projects how much is kept at the end of today and of each of the next days, at today's growth.
 * Undefined where there are too few days to read a growth from.
 */
export function projectKept(
  { days, keptDays }: KeptDays,
  daysAhead: number,
): readonly number[] | undefined {
  const growth = growthOf(days.slice(-keptDays))
  if (!growth) return undefined
  const ahead = Array.from({ length: daysAhead + 1 }, (_, day) => amountOn(growth, day))
  const sums = [0]
  for (const amount of [...days, ...ahead]) sums.push((sums.at(-1) ?? 0) + amount)
  // A day is dropped as a whole, once all of it has expired.
  return ahead.map((_, day) => {
    const end = days.length + day + 1
    return (sums[end] ?? 0) - (sums[Math.max(0, end - keptDays - 1)] ?? 0)
  })
}

/** Returns the amounts of all days before today, by days since 1970, with 0 for missing ones. */
export function fillDays(amounts: ReadonlyMap<number, number>, today: number): readonly number[] {
  const first = Math.min(today, ...amounts.keys())
  return Array.from({ length: today - first }, (_, at) => amounts.get(first + at) ?? 0)
}
