import { AppError } from '../shared/errors.ts'
import type { Queryable } from '../shared/postgres/database.ts'
import { getDefinition } from './automations.ts'
import type { Automation } from './automations.ts'
import { prepareInputs } from './prepare-inputs.ts'
import { timesProblem } from './schedule-times.ts'
import type { ScheduleTimes } from './schedule-times.ts'
import { MISSED_POLICIES } from './schedules.ts'
import type { ScheduleFields } from './schedules.ts'

const NAME = /^(?!\s)[^\p{Cc}]{1,100}(?<!\s)$/u

/** A schedule as somebody gave it. */
export interface GivenSchedule extends ScheduleTimes {
  readonly name: string
  readonly missed: string
  readonly inputs: Readonly<Record<string, unknown>>
}

/**
 * Returns the fields of a schedule of an automation. Raises `unprocessable`, also for inputs that
 * the automation would not take now.
 */
export async function readSchedule(
  sql: Queryable,
  automation: Automation,
  { name, cron: typed, timeZone, missed: chosen, inputs }: GivenSchedule,
): Promise<ScheduleFields> {
  const cron = typed.trim().replace(/\s+/g, ' ')
  if (!NAME.test(name)) {
    throw problem('Give the schedule a name of 1 to 100 characters, without control characters.')
  }
  const wrong = timesProblem({ cron, timeZone }, new Date())
  if (wrong !== undefined) throw problem(wrong)
  const missed = MISSED_POLICIES.find((each) => each === chosen)
  if (missed === undefined) {
    throw problem(`Choose what becomes of missed times: ${MISSED_POLICIES.join(' or ')}.`)
  }
  const definition = await getDefinition(sql, automation)
  await prepareInputs(sql, { automation, definition, inputs })
  return { name, cron, timeZone, missed, inputs }
}

const problem = (message: string): AppError => new AppError('unprocessable', message)
