import { Cron } from 'croner'
import { toError } from '../../shared/errors.ts'

/** The times of a schedule: five fields of cron, by the clock of a time zone. */
export interface ScheduleTimes {
  readonly cron: string
  /** A name of the IANA list, such as `Europe/Berlin`. */
  readonly timeZone: string
}

const FIELDS = 5
const EXAMPLE = 'Write five fields, such as "30 8 * * MON-FRI" for 8:30 on workdays.'

/**
 * Returns the next times after a moment, at most `count`. A time that the clock skips in spring
 * comes at the first one after, and one that it has twice in autumn comes once; schedules of each
 * hour or minute come in every one.
 */
export function nextTimes(times: ScheduleTimes, after: Date, count: number): Date[] {
  return new Cron(times.cron, { timezone: times.timeZone, paused: true, mode: '5-part' }).nextRuns(
    count,
    after,
  )
}

/** Says what is wrong with the times of a schedule; undefined for good ones. */
export function timesProblem(times: ScheduleTimes, now: Date): string | undefined {
  const { cron, timeZone } = times
  if (!isTimeZone(timeZone)) {
    return `There is no time zone “${timeZone}”. Write a name such as Europe/Berlin or UTC.`
  }
  const count = cron.split(' ').length
  if (count !== FIELDS) return `“${cron}” has ${count} fields of cron. ${EXAMPLE}`
  try {
    return nextTimes(times, now, 1).length === 0 ? `“${cron}” never occurs. ${EXAMPLE}` : undefined
  } catch (thrown) {
    const why = toError(thrown).message.replace(/^\w+: /, '')
    return `“${cron}” cannot be read: ${why}. ${EXAMPLE}`
  }
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
