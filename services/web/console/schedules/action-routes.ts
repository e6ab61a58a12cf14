import { Hono } from 'hono'
import { deleteSchedule, pauseSchedule, resumeSchedule } from '../../../platform/schedules.ts'
import type { Automation } from '../../../platform/automations.ts'
import type { Schedule } from '../../../platform/schedules.ts'
import { createAudited } from '../../callers/audited.ts'
import { requireForm } from '../../callers/forms.ts'
import { requireSession } from '../../callers/session.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { scheduleEntry } from '../../callers/audit-entries.ts'
import { getOwnSchedule } from './own-schedule.ts'

/** Serves the buttons of a schedule's page. */
export function scheduleActionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const path = '/automations/:automationId/schedules/:scheduleId'

  routes.post(`${path}/pause`, session, form, async (c) => {
    const { automation, schedule } = await getOwnSchedule(c, sql)
    const entry = scheduleEntry('schedule_paused', schedule)
    await audited(c.var, (tx) => pauseSchedule(tx, schedule), entry)
    return c.redirect(`${schedulePath(automation, schedule)}?notice=schedule-paused`, 303)
  })

  routes.post(`${path}/resume`, session, form, async (c) => {
    const { automation, schedule } = await getOwnSchedule(c, sql)
    const entry = scheduleEntry('schedule_resumed', schedule)
    await audited(c.var, (tx) => resumeSchedule(tx, schedule), entry)
    return c.redirect(`${schedulePath(automation, schedule)}?notice=schedule-resumed`, 303)
  })

  routes.get(`${path}/delete`, session, async (c) => {
    const { automation, schedule } = await getOwnSchedule(c, sql)
    const list = `/automations/${automation.automationId}/schedules`
    return c.html(
      confirmPage({
        session: c.var.session,
        crumbs: [
          { path: `/automations/${automation.automationId}`, name: automation.name },
          { path: list, name: 'Schedules' },
        ],
        question: `Delete the schedule ${schedule.name}?`,
        consequence: 'It starts no more runs. The runs that it started stay.',
        action: `${list}/${schedule.id}/delete`,
        verb: 'Delete',
        back: `${list}/${schedule.id}`,
      }),
    )
  })

  routes.post(`${path}/delete`, session, form, async (c) => {
    const { automation, schedule } = await getOwnSchedule(c, sql)
    const entry = scheduleEntry('schedule_deleted', schedule)
    await audited(c.var, (tx) => deleteSchedule(tx, schedule), entry)
    const list = `/automations/${automation.automationId}/schedules`
    return c.redirect(`${list}?notice=schedule-deleted`, 303)
  })

  return routes
}

const schedulePath = (
  { automationId }: Pick<Automation, 'automationId'>,
  { id }: Pick<Schedule, 'id'>,
): string => `/automations/${automationId}/schedules/${id}`
