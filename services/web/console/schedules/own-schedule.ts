import type { Context } from 'hono'
import type { Automation } from '../../../platform/automations.ts'
import { findSchedule } from '../../../platform/schedules.ts'
import type { Schedule } from '../../../platform/schedules.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn } from '../../context.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'

/** Returns the schedule of the path with its automation. Raises `not_found`. */
export async function getOwnSchedule(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ automation: Automation; schedule: Schedule }> {
  const automation = await getOwnAutomation(c, sql)
  const text = c.req.param('scheduleId') ?? ''
  const key = { id: Number(text), deploymentId: automation.id }
  const schedule = isIdCursor(text) ? await findSchedule(sql, key) : undefined
  if (schedule) return { automation, schedule }
  throw new AppError('not_found', 'This automation has no such schedule.')
}
