import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { dropExpiredDay, makeRunDays } from '../../../../services/platform/runs/run-days.ts'
import { deleteExpiredRuns } from '../../../../services/platform/runs/run-retention.ts'
import { useOneAutomation } from '../one-automation.ts'

const at = useOneAutomation()
const DAYS = 3

async function countEvents(id: string): Promise<number> {
  const [row] = await at.sql<[{ count: number }]>`
    select count(*)::int as count from execution_events where execution_id = ${id}`
  return row.count
}

const listDays = async (): Promise<number[]> => {
  const rows = await at.sql<{ age: number }[]>`
    select (now() at time zone 'UTC')::date - day as age from run_days order by day`
  return rows.map(({ age }) => age)
}

const makeDay = (age: number) => at.sql`
  select make_run_day((now() at time zone 'UTC')::date - ${age}::int)
  where not exists (
    select from run_days where day = (now() at time zone 'UTC')::date - ${age}::int)`

interface DatedRun {
  /** Of its kickoff. */
  readonly ageDays: number
  /** Since it ended; null: it goes on. */
  readonly endedDays: number | null
}

/** A run with an id of the day, and one row in each of the partitioned tables. */
async function insertRun({ ageDays, endedDays }: DatedRun): Promise<string> {
  const ended = endedDays === null ? null : at.sql`now() - make_interval(days => ${endedDays})`
  const [{ id }] = await at.sql<[{ id: string }]>`
    insert into executions (id, deployment_id, inputs, status, finished_at)
    select (left(first_run_id((now() at time zone 'UTC')::date - ${ageDays}::int)::text, 14)
        || '8' || right(gen_random_uuid()::text, 21))::uuid,
      ${at.automation.id}, '{}', ${ended === null ? 'queued' : 'stopped'}, ${ended}
    returning id`
  await at.sql`
    insert into execution_events (execution_id, attempt, position, event)
    values (${id}, 1, 0, '{"type":"crew_started"}')`
  await at.sql`
    insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at)
    values (${id}, 'a', 0, 'llm', 'n', '[]', 'started', 1, now())`
  await at.sql`insert into run_payloads values (${id}, 'a', '{}')`
  await at.sql`
    insert into run_artifacts (run_id, name, task, content, size, left_out)
    values (${id}, 'a', 't', '', 0, 0)`
  return id
}

/** As a worker does it: the days that are too old, then the runs. */
async function sweep(): Promise<number> {
  let dropped = 0
  while (await dropExpiredDay(at.sql, DAYS)) dropped += 1
  while ((await deleteExpiredRuns(at.sql, { days: DAYS })) > 0);
  return dropped
}

// The database may have been made before midnight.
beforeAll(async () => {
  while (await dropExpiredDay(at.sql, 0));
  await makeRunDays(at.sql)
})

const countOrphans = () => at.sql`
  select run_id from run_steps union all select run_id from run_payloads
  union all select run_id from run_artifacts union all select execution_id from execution_events
  except all select id from executions cross join generate_series(1, 4)`

describe('the day of a run', () => {
  it('is in the id of each run that is started', async () => {
    const id = await at.enqueue()
    const [row] = await at.sql`
      select run_day(${id}) = (now() at time zone 'UTC')::date as is_today, 
        (select tableoid::regclass::text like 'execution_events_2%' from execution_events
          where execution_id = ${await insertRun({ ageDays: 0, endedDays: null })}) as is_apart`
    expect(row).toEqual({ isToday: true, isApart: true })
    expect(id).toMatch(/^00000000-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('is left out while the day has no partitions, and the run has its place', async () => {
    await at.sql`delete from run_days where day = (now() at time zone 'UTC')::date`
    const id = await at.enqueue()
    await at.sql`insert into run_days values ((now() at time zone 'UTC')::date)`
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
    await at.sql`
      insert into execution_events (execution_id, attempt, position, event)
      values (${id}, 1, 0, '{"type":"crew_started"}')`
    expect(await countEvents(id)).toBe(1)
  })

  it('is read from the first id of any day, and from the last one', async () => {
    const days = fc.integer({ min: 0, max: 60_000 })
    await fc.assert(
      fc.asyncProperty(days, async (day) => {
        const [row] = await at.sql`
          select run_day(first_run_id(d)) = d as first, run_day(
            (left(first_run_id(d)::text, 14) || '8fff-bfff-ffffffffffff')::uuid) = d as last
          from (select date '1970-01-01' + ${day}::int as d) given`
        expect(row).toEqual({ first: true, last: true })
      }),
      { numRuns: 20 },
    )
    const [none] = await at.sql`select run_day(gen_random_uuid()) as day`
    expect(none).toEqual({ day: null })
  })

  it('is computed within the statement that asks for it, and not by one of its own', async () => {
    const plan = await at.sql<{ 'QUERY PLAN': string }[]>`
      explain (verbose) select content_day(id), run_day(id) from executions`
    const text = plan.map((row) => Object.values(row).join('')).join('\n')
    expect(text).toContain('1970-01-01')
    expect(text).not.toContain('_day(')
  })
})

describe('the days of runs', () => {
  it('are made ahead, once, however many workers do it', async () => {
    const tables = [
      'execution_events',
      'run_steps',
      'run_payloads',
      'run_artifacts',
      'run_contents',
    ]
    for (const table of tables) {
      await at.sql.unsafe(`do $$ begin execute 'drop table ${table}_'
        || to_char((now() at time zone 'UTC')::date + 3, 'YYYYMMDD'); end $$`)
    }
    await at.sql`delete from run_days where day = (now() at time zone 'UTC')::date + 3`
    expect(await listDays()).toEqual([0, -1, -2])
    await Promise.all([1, 2, 3].map(() => makeRunDays(at.sql)))
    expect(await listDays()).toEqual([0, -1, -2, -3])
    expect(await makeRunDays(at.sql)).toBe(0)
  })

  it('are dropped as a whole once all their runs have ended before the retention', async () => {
    await makeDay(5)
    await makeDay(4)
    const expired = await insertRun({ ageDays: 5, endedDays: 5 })
    const kept = await insertRun({ ageDays: 4, endedDays: 2 })
    expect(await sweep()).toBe(1)
    expect([await countEvents(expired), await countEvents(kept)]).toEqual([0, 1])
    expect(await at.sql`select id from executions`).toEqual([{ id: kept }])
    expect(await listDays()).toEqual([4, 0, -1, -2, -3])
    await at.sql`update executions set finished_at = now() - interval '4 days'`
    expect(await sweep()).toBe(1)
    expect(await at.sql`select from executions`).toEqual([])
  })

  it('lose their expired runs one by one where one of their runs goes on', async () => {
    await makeDay(9)
    const waiting = await insertRun({ ageDays: 9, endedDays: null })
    await insertRun({ ageDays: 9, endedDays: 8 })
    expect(await sweep()).toBe(0)
    expect(await at.sql`select id from executions`).toEqual([{ id: waiting }])
    expect(await countEvents(waiting)).toBe(1)
    await at.sql`delete from executions`
    expect(await sweep()).toBe(1)
  })

  it('keep every run that is not expired, with its report, and nothing else', async () => {
    const run = fc
      .record({ ageDays: fc.integer({ min: 0, max: 8 }), ranDays: fc.integer({ min: 0, max: 9 }) })
      .map(({ ageDays, ranDays }) => {
        const endedDays = ageDays - ranDays
        return { ageDays, endedDays: endedDays < 0 ? null : endedDays }
      })
    await fc.assert(
      fc.asyncProperty(fc.array(run, { maxLength: 8 }), async (runs) => {
        await at.sql`delete from executions`
        for (const age of new Set(runs.map(({ ageDays }) => ageDays))) await makeDay(age)
        const ids = await Promise.all(
          runs.map(async (each) => ({ ...each, id: await insertRun(each) })),
        )
        await sweep()
        const left = new Set(
          (await at.sql<{ id: string }[]>`select id from executions`).map((r) => r.id),
        )
        for (const { id, endedDays } of ids) {
          if (endedDays === null || endedDays < DAYS) {
            expect(left.has(id)).toBe(true)
            expect(await countEvents(id)).toBe(1)
          } else if (endedDays > DAYS + 2) expect(left.has(id)).toBe(false)
        }
        expect(await countOrphans()).toEqual([])
      }),
      { numRuns: 12 },
    )
  })
})
