import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { getDefinition } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import { prepareInputs } from '../runs/prepare-inputs.ts'
import { timesProblem } from './schedule-times.ts'
import type { ScheduleFields } from './schedules.ts'

const NAME = /^(?!\s)[^\p{Cc}]{1,100}(?<!\s)$/u

/**
 * Returns the fields of a schedule as they are stored. Raises `unprocessable`, also for inputs that
 * the automation would not take now.
 */
export async function readSchedule(
  sql: Queryable,
  automation: Automation,
  { name, cron: typed, timeZone, missed, inputs }: ScheduleFields,
): Promise<ScheduleFields> {
  const cron = typed.trim().replace(/\s+/g, ' ')
  if (!NAME.test(name)) {
    throw problem('Give the schedule a name of 1 to 100 characters, without control characters.')
  }
  const wrong = timesProblem({ cron, timeZone }, new Date())
  if (wrong !== undefined) throw problem(wrong)
  const definition = await getDefinition(sql, automation)
  await prepareInputs(sql, { automation, definition, inputs })
  return { name, cron, timeZone, missed, inputs }
}

const problem = (message: string): AppError => new AppError('unprocessable', message)
