import { Hono } from 'hono'
import { getDefinition } from '../../../platform/automations.ts'
import type { Automation } from '../../../platform/automations.ts'
import { inputFields } from '../../../platform/crew-inputs.ts'
import { readSchedule } from '../../../platform/schedule-fields.ts'
import { createSchedule, listSchedules, updateSchedule } from '../../../platform/schedules.ts'
import type { ScheduleFields } from '../../../platform/schedules.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { noticeOf } from '../frame/notices.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { scheduleEntry } from '../../callers/audit-entries.ts'
import { getOwnSchedule } from './own-schedule.ts'
import { scheduleActionRoutes } from './action-routes.ts'
import { newSchedule, readTyped, toGiven, typedOf } from './form.ts'
import type { TypedSchedule } from './form.ts'
import { schedulePage, schedulesPage } from './page.ts'

const PATH = '/automations/:automationId/schedules'

/** What takes back what a notice tells. */
const UNDO: ReadonlyMap<string, string> = new Map([
  ['schedule-paused', 'resume'],
  ['schedule-resumed', 'pause'],
])

/** Serves the schedules of an automation to the members of its organization. */
export function scheduleRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.get(PATH, session, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const typed = newSchedule(inputFields(await getDefinition(sql, automation)))
    const schedules = await listSchedules(sql, automation.id)
    const notice = noticeOf(c.req.query('notice'))
    const page = { session: c.var.session, automation, schedules, typed, notice }
    return c.html(schedulesPage(page))
  })

  routes.post(PATH, session, form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const typed = readTyped(c.var.form)
    const fields = await readFields(sql, automation, typed)
    if (typeof fields === 'string') {
      const schedules = await listSchedules(sql, automation.id)
      const page = { session: c.var.session, automation, schedules, typed, problem: fields }
      return c.html(schedulesPage(page), 422)
    }
    const owner = { deploymentId: automation.id, createdBy: c.var.session.user.id }
    const { id } = await audited(
      c.var,
      (tx) => createSchedule(tx, owner, fields),
      (created) => scheduleEntry('schedule_created', created, { after: fields }),
    )
    return c.redirect(`${pathOf(automation)}/${id}?notice=schedule-saved`, 303)
  })

  routes.get(`${PATH}/:scheduleId`, session, async (c) => {
    const { automation, schedule } = await getOwnSchedule(c, sql)
    const key = c.req.query('notice') ?? ''
    const view = { session: c.var.session, automation, schedule, typed: typedOf(schedule) }
    return c.html(schedulePage({ ...view, notice: noticeOf(key), undo: UNDO.get(key) }))
  })

  routes.post(`${PATH}/:scheduleId`, session, form, async (c) => {
    const { automation, schedule } = await getOwnSchedule(c, sql)
    const typed = readTyped(c.var.form)
    const fields = await readFields(sql, automation, typed)
    if (typeof fields === 'string') {
      const view = { session: c.var.session, automation, schedule, typed, problem: fields }
      return c.html(schedulePage(view), 422)
    }
    const entry = scheduleEntry('schedule_changed', schedule, { before: schedule, after: fields })
    await audited(c.var, (tx) => updateSchedule(tx, schedule, fields), entry)
    return c.redirect(`${pathOf(automation)}/${schedule.id}?notice=schedule-saved`, 303)
  })

  routes.route('/', scheduleActionRoutes(deps))
  return routes
}

const pathOf = ({ automationId }: Automation): string => `/automations/${automationId}/schedules`

/** Returns the fields that were typed, or what is wrong with them. */
async function readFields(
  sql: Database,
  automation: Automation,
  typed: TypedSchedule,
): Promise<ScheduleFields | string> {
  try {
    return await readSchedule(sql, automation, toGiven(typed))
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'unprocessable') return thrown.message
    throw thrown
  }
}
