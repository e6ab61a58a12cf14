import { Hono } from 'hono'
import type { Context } from 'hono'
import * as v from 'valibot'
import { readSchedule } from '../../platform/schedule-fields.ts'
import {
  createSchedule,
  deleteSchedule,
  findSchedule,
  listSchedules,
  pauseSchedule,
  resumeSchedule,
  updateSchedule,
} from '../../platform/schedules.ts'
import type { Schedule, ScheduleFields } from '../../platform/schedules.ts'
import type { Automation } from '../../platform/automations.ts'
import { AppError } from '../../shared/errors.ts'
import { readJson } from '../../shared/http/json-body.ts'
import { isObject } from '../../shared/is-object.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { scheduleEntry } from '../callers/audit-entries.ts'
import { createAudited } from '../callers/audited.ts'
import { requireOrganization } from '../callers/organization.ts'
import type { OrganizationCall, WebDeps } from '../context.ts'
import { parseBody } from '../http/parse-body.ts'
import { refuseMethod } from '../http/refuse-method.ts'
import { scheduleDocument } from './documents.ts'
import { getAutomation } from './get-automation.ts'
import { readNumber } from './requests.ts'

const BODY_BYTES_MAX = 256 * 1024
const TEXT_MAX = 200

const text = () =>
  v.pipe(
    v.string('must be a text'),
    v.maxLength(TEXT_MAX, `must have at most ${TEXT_MAX} characters`),
  )
const scheduleBody = v.strictObject({
  name: text(),
  cron: text(),
  time_zone: text(),
  missed: v.optional(text(), 'skip'),
  inputs: v.optional(
    v.pipe(
      v.unknown(),
      // A list is a record to valibot.
      v.check(isObject, 'must be an object'),
      v.record(v.string(), v.unknown()),
    ),
    {},
  ),
})

const LIST = '/automations/:automationId/schedules'
const ONE = `${LIST}/:scheduleId`

/** The schedules of an automation, which start runs by themselves. */
export function scheduleApiRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const routes = new Hono<OrganizationCall>()
  const authenticate = requireOrganization(deps)

  routes.get(LIST, authenticate, async (c) => {
    const automation = await getAutomation(c, sql)
    const schedules = await listSchedules(sql, automation.id)
    return c.json({ schedules: schedules.map((each) => scheduleDocument(automation, each)) })
  })

  routes.post(LIST, authenticate, async (c) => {
    const automation = await getAutomation(c, sql)
    const fields = await readFields(c, sql, automation)
    const created = await audited(
      c.var,
      (tx) => createSchedule(tx, { deploymentId: automation.id, createdBy: null }, fields),
      (schedule) => scheduleEntry('schedule_created', schedule, { after: fields }),
    )
    const { automationId } = automation
    const location = `/designer/v2/automations/${automationId}/schedules/${created.id}`
    return c.json(scheduleDocument(automation, created), 201, { location })
  })
  routes.all(LIST, authenticate, refuseMethod('GET, HEAD, POST'))

  routes.get(ONE, authenticate, async (c) => show(c, sql, await getSchedule(c, sql)))

  routes.put(ONE, authenticate, async (c) => {
    const at = await getSchedule(c, sql)
    const fields = await readFields(c, sql, at.automation)
    const change = { before: at.schedule, after: fields }
    const entry = scheduleEntry('schedule_changed', at.schedule, change)
    await audited(c.var, (tx) => updateSchedule(tx, at.schedule, fields), entry)
    return show(c, sql, at)
  })

  routes.delete(ONE, authenticate, async (c) => {
    const { schedule } = await getSchedule(c, sql)
    const entry = scheduleEntry('schedule_deleted', schedule)
    await audited(c.var, (tx) => deleteSchedule(tx, schedule), entry)
    return c.body(null, 204)
  })
  routes.all(ONE, authenticate, refuseMethod('GET, HEAD, PUT, DELETE'))

  routes.route('/', scheduleStateRoutes(deps))
  return routes
}

function scheduleStateRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const audited = createAudited(sql)
  const routes = new Hono<OrganizationCall>()
  const authenticate = requireOrganization(deps)
  for (const [verb, action, change] of [
    ['pause', 'schedule_paused', pauseSchedule],
    ['resume', 'schedule_resumed', resumeSchedule],
  ] as const) {
    routes.post(`${ONE}/${verb}`, authenticate, async (c) => {
      const at = await getSchedule(c, sql)
      const entry = scheduleEntry(action, at.schedule)
      await audited(c.var, (tx) => change(tx, at.schedule), entry)
      return show(c, sql, at)
    })
    routes.all(`${ONE}/${verb}`, authenticate, refuseMethod('POST'))
  }

  return routes
}

interface OfSchedule {
  readonly automation: Automation
  readonly schedule: Schedule
}

/** Answers with the schedule as it is now. */
async function show(
  c: Context<OrganizationCall>,
  sql: Database,
  { automation, schedule }: OfSchedule,
): Promise<Response> {
  return c.json(scheduleDocument(automation, (await findSchedule(sql, schedule)) ?? schedule))
}

async function getSchedule(c: Context<OrganizationCall>, sql: Database): Promise<OfSchedule> {
  const automation = await getAutomation(c, sql)
  const key = { id: readNumber(c, 'scheduleId'), deploymentId: automation.id }
  const schedule = await findSchedule(sql, key)
  if (schedule) return { automation, schedule }
  throw new AppError('not_found', 'This automation has no such schedule.')
}

async function readFields(
  c: Context<OrganizationCall>,
  sql: Database,
  automation: Automation,
): Promise<ScheduleFields> {
  const body = parseBody(scheduleBody, await readJson(c.req.raw, BODY_BYTES_MAX))
  const { time_zone: timeZone, ...given } = body
  return readSchedule(sql, automation, { ...given, timeZone })
}
