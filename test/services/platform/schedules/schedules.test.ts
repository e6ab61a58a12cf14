import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import { runDueSchedules } from '../../../../services/platform/schedules/run-schedules.ts'
import { nextTimes, timesProblem } from '../../../../services/platform/schedules/schedule-times.ts'
import { createSchedule, findSchedule } from '../../../../services/platform/schedules/schedules.ts'
import { pauseSchedule, resumeSchedule } from '../../../../services/platform/schedules/schedules.ts'
import type { ScheduleFields } from '../../../../services/platform/schedules/schedules.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import { deployAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const database = useDatabase()
const MINUTE = 60_000
let automation: Automation

beforeAll(async () => {
  const { id } = await ensureOrganization(database.sql, { name: 'acme' })
  automation = await deployAutomation(database.sql, id, {
    slug: 'research',
    name: 'research',
    project: 'research',
  })
})

beforeEach(async () => {
  await database.sql`delete from schedules`
  await database.sql`delete from executions`
})

const fields: ScheduleFields = {
  name: 'every day',
  cron: '30 2 * * *',
  timeZone: 'Europe/Berlin',
  inputs: { topic: 'tides' },
  missed: 'skip',
}

/** A schedule that waits for the first of its times after a moment. */
async function scheduleAt(from: string, changes: Partial<ScheduleFields> = {}) {
  const wanted = { ...fields, ...changes }
  const { sql } = database
  const created = await createSchedule(
    sql,
    { deploymentId: automation.id, createdBy: null },
    wanted,
  )
  const [next] = nextTimes(wanted, new Date(from), 1)
  await sql`update schedules set next_at = ${next ?? null} where id = ${created.id}`
  return created
}

const runs = () => database.sql`
  select trigger, starter_name, inputs from executions order by queued_at`

/** Three workers look at a moment, all at once. Returns how many times they found. */
async function lookAt(at: Date): Promise<number> {
  const found = await Promise.all([1, 2, 3].map(() => runDueSchedules(database.sql, { at })))
  return found.reduce((sum, count) => sum + count, 0)
}

/** Lets three workers look every minute. Returns when a run was started. */
async function watch(from: string, minutes: number): Promise<string[]> {
  const started: string[] = []
  for (let minute = 0; minute <= minutes; minute += 1) {
    const at = new Date(Date.parse(from) + minute * MINUTE)
    const count = await lookAt(at)
    for (let each = 0; each < count; each += 1) started.push(at.toISOString().slice(11, 16))
  }
  return started
}

describe('a schedule', () => {
  it('starts a run at each of its times, with its inputs, however many workers look', async () => {
    const { id } = await scheduleAt('2026-06-01T12:00:00Z', { cron: '*/5 * * * *' })
    expect(await watch('2026-06-01T12:00:00Z', 20)).toEqual(['12:05', '12:10', '12:15', '12:20'])
    const rows = await runs()
    expect(rows).toHaveLength(4)
    expect(rows[0]).toEqual({
      trigger: 'schedule',
      starterName: 'every day',
      inputs: { topic: 'tides' },
    })
    expect(await findSchedule(database.sql, { id, deploymentId: automation.id })).toMatchObject({
      nextAt: new Date('2026-06-01T12:25:00Z'),
      lastAt: new Date('2026-06-01T12:20:00Z'),
      lastProblem: null,
    })
  })

  it('comes once where the clock goes back, and once where it goes forward', async () => {
    await scheduleAt('2026-10-25T00:00:00Z')
    expect(await watch('2026-10-25T00:00:00Z', 120)).toEqual(['00:30'])
    await database.sql`delete from schedules`
    await scheduleAt('2026-03-29T00:00:00Z')
    expect(await watch('2026-03-29T00:00:00Z', 120)).toEqual(['01:00'])
  })

  it('of each hour comes in each hour, also in those that the clock repeats', async () => {
    await scheduleAt('2026-10-24T23:59:00Z', { cron: '0 * * * *' })
    expect(await watch('2026-10-24T23:59:00Z', 185)).toEqual(['00:00', '01:00', '02:00', '03:00'])
  })

  it('makes up for what is a little late, one after the other', async () => {
    await scheduleAt('2026-06-01T12:00:00Z', { cron: '* * * * *' })
    expect(await lookAt(new Date('2026-06-01T12:04:30Z'))).toBe(4)
    expect(await runs()).toHaveLength(4)
  })

  it.each([
    ['skip', 0],
    ['run_once', 1],
  ] as const)('starts, for times that were missed, by “%s” %i runs', async (missed, count) => {
    await scheduleAt('2026-06-01T12:00:00Z', { cron: '0 * * * *', missed })
    await lookAt(new Date('2026-06-01T17:30:00Z'))
    expect(await runs()).toHaveLength(count)
    expect(await watch('2026-06-01T17:59:00Z', 2)).toEqual(['18:00'])
  })

  it('loses nothing and doubles nothing when a worker is killed in the middle', async () => {
    await scheduleAt('2026-06-01T12:00:00Z', { cron: '5 * * * *' })
    const { sql } = database
    await sql`
      create function kill_worker() returns trigger language plpgsql as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$`
    await sql`
      create trigger kill before update on schedules for each row execute function kill_worker()`
    const at = new Date('2026-06-01T12:05:00Z')
    const killed = connectDatabase(parseAddress(database.url), { name: 'killed', max: 1 })
    await expect(runDueSchedules(killed, { at })).rejects.toThrow()
    await killed.end({ timeout: 0 })
    await sql`drop trigger kill on schedules`
    expect(await runs()).toHaveLength(0)
    expect(await lookAt(at)).toBe(1)
    expect(await runs()).toHaveLength(1)
  })

  it('says why it started nothing, and holds up no other one', async () => {
    const broken = await scheduleAt('2026-06-01T12:00:00Z', { cron: '5 * * * *', inputs: {} })
    await scheduleAt('2026-06-01T12:00:00Z', { cron: '5 * * * *' })
    expect(await lookAt(new Date('2026-06-01T12:05:00Z'))).toBe(2)
    expect(await runs()).toHaveLength(1)
    const key = { id: broken.id, deploymentId: automation.id }
    expect((await findSchedule(database.sql, key))?.lastProblem).toContain('topic')
  })

  it('starts nothing while it is paused, and goes on with its next time', async () => {
    const { sql } = database
    const created = await scheduleAt('2026-06-01T12:00:00Z', { cron: '* * * * *' })
    await pauseSchedule(sql, created)
    expect(await lookAt(new Date('2027-01-01T00:00:00Z'))).toBe(0)
    const key = { id: created.id, deploymentId: automation.id }
    const paused = await findSchedule(sql, key)
    if (paused) await resumeSchedule(sql, paused)
    const resumed = await findSchedule(sql, key)
    expect(resumed?.pausedAt).toBeNull()
    expect(resumed?.nextAt?.getTime()).toBeGreaterThan(Date.now() - MINUTE)
  })
})

describe('the times of a schedule', () => {
  const now = new Date('2026-06-01T12:00:00Z')
  it.each([
    ['* * * * *', 'UTC', undefined],
    ['0 9 * * MON-FRI', 'America/New_York', undefined],
    ['0 0 29 2 *', 'UTC', undefined],
    ['* * * * * *', 'UTC', 'has 6 fields of cron'],
    ['61 * * * *', 'UTC', 'Invalid value for minute: 61'],
    ['0 0 30 2 *', 'UTC', 'never occurs'],
    ['hello', 'UTC', 'has 1 fields of cron'],
    ['a b c d e', 'UTC', 'cannot be read'],
    ['0 9 * * *', 'Mars/Base', 'There is no time zone “Mars/Base”'],
  ])('“%s” in %s: %s', (cron, timeZone, problem) => {
    const found = timesProblem({ cron, timeZone }, now)
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found).toContain(problem)
  })
})
