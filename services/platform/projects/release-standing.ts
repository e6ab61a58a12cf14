import { compareSides } from './compare-sides.ts'
import type { Drawn } from './compare-sides.ts'
import type { RollbackRule } from './rollback-rules.ts'

/** A typical cost is told from one that is up to so many times as high, or a part of it. */
const COST_FACTOR_MAX = 4
const COST_RANGE = 2 * Math.log(COST_FACTOR_MAX)
/** A typical cost follows the last runs as much as this. */
const TRACKED_MIN = 0.05
/** Less than any model takes for a call. */
const USD_MIN = 1e-7

/** What versions are compared by. */
export const MEASURES = ['failures', 'cost', 'ratings', 'scores'] as const
/** One of them. */
export type Measure = (typeof MEASURES)[number]

/** A run that the test has seen. */
export interface SeenRun {
  readonly isNew: boolean
  /** Of 100 calls, when its version was drawn. */
  readonly share: number
  readonly hasFailed: boolean
  readonly usd: number | null
  readonly isBad: boolean | null
  readonly ratedPosition: string | null
  readonly hasFailedScore: boolean | null
  readonly scoredPosition: string | null
}

/** What is known of a version by one measure. */
interface SideFound {
  readonly runs: number
  /** Percent, or dollars of a typical run; null: there was no run. */
  readonly value: number | null
}

/** How two versions differ by one measure: points, or percent of the cost. */
export interface MeasureFound {
  readonly measure: Measure
  readonly of: { readonly running: SideFound; readonly new: SideFound }
  /** By so much the new version is worse, at the least and at the most; below 0 it is better. */
  readonly low: number
  readonly high: number
  /** It is taken back once `low` is above this. */
  readonly margin: number
}

/** What a look at a release found. */
export interface Standing {
  readonly runs: { readonly running: number; readonly new: number }
  readonly measures: readonly MeasureFound[]
}

interface Reading {
  readonly runs: readonly Drawn[]
  readonly prior: number
  readonly margin: number
  /** From the difference of values to points or percent. */
  readonly toUnit: (difference: number) => number
  readonly typical: (isNew: boolean) => number | null
}

/** Compares the two versions by each measure of a rule, whose error they share. */
export function findStanding(seen: readonly SeenRun[], rule: RollbackRule): Standing {
  const readings = readingsOf(seen, rule)
  const error = rule.errorPercent / 100 / Math.max(1, readings.length)
  return {
    runs: { running: countOf(seen, false), new: countOf(seen, true) },
    measures: readings.map(({ measure, runs, prior, margin, toUnit, typical }) => {
      const { low, high } = compareSides(runs, { error, prior })
      const side = (isNew: boolean) => ({ runs: countOf(runs, isNew), value: typical(isNew) })
      return {
        measure,
        of: { running: side(false), new: side(true) },
        low: toUnit(low),
        high: toUnit(high),
        margin,
      }
    }),
  }
}

const countOf = (runs: readonly { readonly isNew: boolean }[], isNew: boolean): number =>
  runs.reduce((count, run) => count + Number(run.isNew === isNew), 0)

function readingsOf(seen: readonly SeenRun[], rule: RollbackRule) {
  const { failurePoints, costPercent, ratingPoints, scorePoints } = rule
  const rated = seen
    .filter(({ isBad }) => isBad !== null)
    .toSorted((a, b) => Number(a.ratedPosition) - Number(b.ratedPosition))
  const failed = seen.map((run) => toDrawn(run, Number(run.hasFailed)))
  const bad = rated.map((run) => toDrawn(run, Number(run.isBad)))
  const readings: (Reading & { readonly measure: Measure })[] = []
  if (failurePoints !== null) {
    readings.push({ measure: 'failures', ...sharesOf(failed, 0, failurePoints) })
  }
  if (costPercent !== null) readings.push({ measure: 'cost', ...costsOf(seen, costPercent) })
  if (ratingPoints !== null) {
    readings.push({ measure: 'ratings', ...sharesOf(bad, 0.5, ratingPoints) })
  }
  if (scorePoints !== null) {
    const scored = seen
      .filter(({ hasFailedScore }) => hasFailedScore !== null)
      .toSorted((a, b) => Number(a.scoredPosition) - Number(b.scoredPosition))
      .map((run) => toDrawn(run, Number(run.hasFailedScore)))
    readings.push({ measure: 'scores', ...sharesOf(scored, 0.5, scorePoints) })
  }
  return readings
}

const toDrawn = ({ isNew, share }: SeenRun, value: number): Drawn => ({
  isNew,
  probability: share / 100,
  value,
})

const sharesOf = (runs: readonly Drawn[], prior: number, margin: number): Reading => ({
  runs,
  prior,
  margin,
  toUnit: (difference) => 100 * difference,
  typical: (isNew) =>
    scaled(
      meanOf(runs, isNew, ({ value }) => value),
      (mean) => 100 * mean,
    ),
})

/**
 * Reads costs by their logarithms, each against a typical one of those before it: a version that
 * takes a tenth more takes it of cheap runs and of expensive ones.
 */
function costsOf(seen: readonly SeenRun[], margin: number): Reading {
  const priced = seen.flatMap((run) =>
    run.usd === null ? [] : [{ ...run, log: Math.log(Math.max(run.usd, USD_MIN)) }],
  )
  let typical = priced.find(({ usd }) => usd !== 0)?.log ?? 0
  const runs = priced.map((run, index) => {
    const value = Math.max(0, Math.min(1, 0.5 + (run.log - typical) / COST_RANGE))
    typical += (value - 0.5) * COST_RANGE * Math.max(TRACKED_MIN, 1 / (index + 1))
    return toDrawn(run, value)
  })
  return {
    runs,
    prior: 0.5,
    margin,
    toUnit: (difference) => 100 * (Math.exp(difference * COST_RANGE) - 1),
    typical: (isNew) =>
      scaled(
        meanOf(priced, isNew, ({ log }) => log),
        Math.exp,
      ),
  }
}

function meanOf<Run extends { readonly isNew: boolean }>(
  runs: readonly Run[],
  isNew: boolean,
  valueOf: (run: Run) => number,
): number | null {
  const values = runs.filter((run) => run.isNew === isNew).map(valueOf)
  return values.length === 0 ? null : values.reduce((all, each) => all + each, 0) / values.length
}

const scaled = (value: number | null, scale: (value: number) => number): number | null =>
  value === null ? null : scale(value)

/** Returns the measures by which a version is worse by more than its margin. */
export const worseBy = ({ measures }: Standing): MeasureFound[] =>
  measures.filter(({ low, margin }) => low > margin)

/** Says in a sentence how a version is worse by a measure. */
export function describeFound({ measure, of, low, margin }: MeasureFound): string {
  const said = ({ value, runs }: SideFound): string =>
    `${measure === 'cost' ? dollars(value) : percent(value)} of ${runs} runs`
  const by = measure === 'cost' ? `${low.toFixed(1)} %` : `${low.toFixed(1)} points`
  return (
    `${WORDS[measure]}: ${said(of.new)}, against ${said(of.running)}. ` +
    `That is worse by at least ${by}; ${margin} are allowed.`
  )
}

const WORDS: Readonly<Record<Measure, string>> = {
  failures: 'Failed runs',
  cost: 'Cost of a typical run',
  ratings: 'Runs rated as bad',
  scores: 'Runs whose checks fail',
}

const percent = (value: number | null): string => (value === null ? '–' : `${value.toFixed(1)} %`)
const dollars = (value: number | null): string =>
  value === null ? '–' : `US$ ${value.toPrecision(3)}`
