/** What an alert watches: its name for people, its unit, and whether it is of runs that ended. */
export const WATCHES = {
  failure_share: { label: 'Share of failed runs', unit: '%', isOfRuns: true },
  duration_median: { label: 'Median time of runs', unit: 's', isOfRuns: true },
  duration_p95: { label: '95th percentile of the time of runs', unit: 's', isOfRuns: true },
  tokens_per_run: { label: 'Tokens of a run, on average', unit: 'tokens', isOfRuns: true },
  tokens_total: { label: 'Tokens of all runs', unit: 'tokens', isOfRuns: true },
  cost_per_run: { label: 'Cost of a run, on average', unit: 'USD', isOfRuns: true },
  cost_total: { label: 'Cost of all runs', unit: 'USD', isOfRuns: true },
  bad_ratings: { label: 'Share of rated runs that are bad', unit: '%', isOfRuns: true },
  failed_scores: { label: 'Share of scored runs that fail a check', unit: '%', isOfRuns: true },
  budget_spent: { label: 'Share of a daily or monthly budget', unit: '%', isOfRuns: false },
  approvals_waiting: { label: 'Approvals that wait', unit: 'approvals', isOfRuns: false },
  approval_age: { label: 'Age of the oldest approval', unit: 'minutes', isOfRuns: false },
  schedules_idle: {
    label: 'Schedules that started nothing',
    unit: 'schedules',
    isOfRuns: false,
  },
} as const

/** The name of what an alert watches, as files and programs have it. */
export type Watched = keyof typeof WATCHES

/** Those names, for schemas. */
export const WATCHED = Object.keys(WATCHES).filter((name): name is Watched => name in WATCHES)

/** The spans of time that alerts look back over, in minutes. */
export const WINDOWS = { '5m': 5, '15m': 15, '1h': 60, '6h': 360, '1d': 1440 } as const
/** The name of one. */
export type Window = keyof typeof WINDOWS

/** The decimals that a threshold has, and a value is shown with, in dollars. */
export const DOLLAR_DECIMALS = 4

/** Returns a value with its unit: `12.5 %`. */
export function withUnit(watches: Watched, value: number): string {
  const { unit } = WATCHES[watches]
  return `${Number(value.toFixed(unit === 'USD' ? DOLLAR_DECIMALS : 1))} ${unit}`
}
