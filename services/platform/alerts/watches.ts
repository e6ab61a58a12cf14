/**
 * What an alert watches: its name for people, its unit, and whether it is of runs that ended, or of
 * traces that other programs sent.
 */
export const WATCHES = {
  failure_share: { label: 'Share of failed runs', unit: '%', of: 'runs' },
  duration_median: { label: 'Median time of runs', unit: 's', of: 'runs' },
  duration_p95: { label: '95th percentile of the time of runs', unit: 's', of: 'runs' },
  tokens_per_run: { label: 'Tokens of a run, on average', unit: 'tokens', of: 'runs' },
  tokens_total: { label: 'Tokens of all runs', unit: 'tokens', of: 'runs' },
  cost_per_run: { label: 'Cost of a run, on average', unit: 'USD', of: 'runs' },
  cost_total: { label: 'Cost of all runs', unit: 'USD', of: 'runs' },
  bad_ratings: { label: 'Share of rated runs that are bad', unit: '%', of: 'runs' },
  failed_scores: { label: 'Share of scored runs that fail a check', unit: '%', of: 'runs' },
  trace_failure_share: { label: 'Share of failed traces', unit: '%', of: 'traces' },
  trace_duration_median: { label: 'Median time of traces', unit: 's', of: 'traces' },
  trace_duration_p95: {
    label: '95th percentile of the time of traces',
    unit: 's',
    of: 'traces',
  },
  tokens_per_trace: { label: 'Tokens of a trace, on average', unit: 'tokens', of: 'traces' },
  trace_tokens_total: { label: 'Tokens of all traces', unit: 'tokens', of: 'traces' },
  cost_per_trace: { label: 'Cost of a trace, on average', unit: 'USD', of: 'traces' },
  trace_cost_total: { label: 'Cost of all traces', unit: 'USD', of: 'traces' },
  trace_failed_scores: {
    label: 'Share of scored traces that fail a check',
    unit: '%',
    of: 'traces',
  },
  budget_spent: { label: 'Share of a daily or monthly budget', unit: '%', of: 'rest' },
  approvals_waiting: { label: 'Approvals that wait', unit: 'approvals', of: 'rest' },
  approval_age: { label: 'Age of the oldest approval', unit: 'minutes', of: 'rest' },
  schedules_idle: {
    label: 'Schedules that started nothing',
    unit: 'schedules',
    of: 'rest',
  },
} as const

/** The name of what an alert watches, as files and programs have it. */
export type Watched = keyof typeof WATCHES

/** Those names, for schemas. */
export const WATCHED = Object.keys(WATCHES).filter((name): name is Watched => name in WATCHES)

/** False for a name that only a newer version knows, which made the alert before a rollback. */
export const isKnown = (watches: string): watches is Watched => Object.hasOwn(WATCHES, watches)

/** The spans of time that alerts look back over, in minutes. */
export const WINDOWS = { '5m': 5, '15m': 15, '1h': 60, '6h': 360, '1d': 1440 } as const
/** The name of one. */
export type Window = keyof typeof WINDOWS

/** The decimals that a threshold has, and a value is shown with, in dollars. */
export const DOLLAR_DECIMALS = 4

/** Returns for people what an alert watches; the name itself of one that is not known here. */
export const labelOf = (watches: string): string =>
  isKnown(watches) ? WATCHES[watches].label : `"${watches}"`

/** Returns a value with its unit, where that is known: `12.5 %`. */
export function withUnit(watches: string, value: number): string {
  const unit = isKnown(watches) ? WATCHES[watches].unit : ''
  return `${Number(value.toFixed(unit === 'USD' ? DOLLAR_DECIMALS : 1))} ${unit}`.trimEnd()
}
