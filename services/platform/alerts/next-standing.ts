import type { Alert } from './alerts.ts'
import { WATCHES } from './watches.ts'

const MINUTE_MS = 60_000

/** What a look at an alert found; null: there was nothing to look at. */
export interface Found {
  readonly value: number | null
  readonly samples: number
}

/** The state of an alert, and since when its value has been there while it does not fire. */
export interface Standing extends Pick<Alert, 'state'> {
  readonly breachedSince: Date | null
}

type Rule = Pick<Alert, 'watches' | 'threshold' | 'resolvesBelow' | 'forMinutes' | 'minimum'>

/**
 * Returns the state of an alert after a look. With fewer runs, or traces, than its minimum it stays
 * as it is; with none it is resolved. Between the two thresholds one that fires goes on firing.
 */
export function nextStanding(rule: Rule, before: Standing, look: Found & { at: Date }): Standing {
  const { value, samples, at } = look
  const rests = { state: before.state, breachedSince: null }
  if (value === null) return { state: 'ok', breachedSince: null }
  if (WATCHES[rule.watches].of !== 'rest' && samples < rule.minimum) return rests
  if (before.state === 'firing') {
    return value < (rule.resolvesBelow ?? rule.threshold) ? { ...rests, state: 'ok' } : rests
  }
  if (value < rule.threshold) return rests
  // A clock that went back says nothing of how long it has been.
  const since = before.breachedSince && before.breachedSince <= at ? before.breachedSince : at
  return at.getTime() - since.getTime() >= rule.forMinutes * MINUTE_MS
    ? { state: 'firing', breachedSince: null }
    : { state: 'ok', breachedSince: since }
}
