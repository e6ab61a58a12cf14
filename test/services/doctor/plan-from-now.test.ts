import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import {
  findFullDay,
  partitionSizes,
  sumOf,
} from '../../../services/collector/store/spans/retention.ts'
import { dayOf } from '../../../services/collector/store/spans/partitions.ts'
import { runDoctor } from '../../../services/doctor/doctor.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { useInstallation } from '../web/diagnostics/support/installation.ts'
import { surroundings } from './support/surroundings.ts'

const [DAY_MS, DAYS] = [86_400_000, 16]
/** Spans of the day that is so many days after the first one, and the same for runs. */
const SPANS = { first: 600, more: 15 }
const RUNS = { first: 60, more: 2 }

const installation = useInstallation()
let traces: TestDatabase
let sql: Database
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plan-'))
  traces = await createDatabase('collector')
  sql = connectDatabase(parseAddress(traces.url), { name: 'test' })
  await seedSpans()
  await seedRuns()
})

afterAll(async () => {
  rmSync(directory, { recursive: true })
  await sql.end()
  await traces.drop()
})

async function seedSpans(): Promise<void> {
  await sql`insert into retention (weeks) values (52)`
  await sql.unsafe(`do $$
    declare today date := (now() at time zone 'UTC')::date; day date; nr int;
    begin
      for nr in 0..${DAYS - 1} loop
        day := today - ${DAYS} + nr;
        execute format('create table %I partition of spans for values from (%L) to (%L)',
          'spans_' || to_char(day, 'YYYYMMDD'), day || ' 00:00Z', day + 1 || ' 00:00Z');
        insert into spans (trace_id, span_id, start_time, resource_id, scope_id, start_ns, kind,
          status, llm_call, name, payload)
        select gen_random_uuid(), n, (day || ' 00:00Z')::timestamptz + n * interval '1 second',
          1, 1, 0, 1, 0, false, 'x',
          -- A day without growth, and one that is an outlier, change nothing.
          repeat(md5(n::text), case nr when 10 then 100 else 20 end)
        from generate_series(1, ${SPANS.first} + ${SPANS.more} * nr) n;
      end loop;
    end $$`)
  await sql`analyze spans`
}

async function seedRuns(): Promise<void> {
  const main = installation.sql
  const [token] = await main`
    insert into static_tokens (organization_id, name, token_hash, last_four, expires_at)
    select id, ${'x"\nworker: {replicaCount: 0}\n'}, sha256('x'), 'abcd', now() + interval '12 days'
    from organizations limit 1 returning id`
  expect(token).toBeDefined()
  await main.unsafe(`do $$
    declare today date := (now() at time zone 'UTC')::date; of date; nr int;
    begin
      for nr in 0..${DAYS - 1} loop
        of := today - ${DAYS} + nr;
        perform make_run_day(of);
        insert into executions (id, deployment_id, inputs, status, queued_at, started_at,
          finished_at, output)
        select (left(translate(first_run_id(of)::text, '-', ''), 12)
            || '8' || right(translate(gen_random_uuid()::text, '-', ''), 19))::uuid,
          (select min(id) from deployments), '{}', 'completed', of, of,
          of + interval '12 seconds', 'x'
        from generate_series(1, ${RUNS.first} + ${RUNS.more} * nr);
        insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
          started_at, ended_at)
        select id, step, 0, 'task', 'x', '[]', 'finished', 1, of, of from executions,
          unnest(array['a', 'b', 'c']) step
        where id >= first_run_id(of) and id < first_run_id(of + 1);
      end loop;
    end $$`)
  await main`analyze executions`
  await main`analyze run_steps`
}

interface Answer {
  readonly load: { readonly spans: { perDay: number }; readonly runs: { perDay: number } }
  readonly lines: readonly { key: string; from: string }[]
  readonly ends: readonly { what: string; on: string | null; remedy: string }[]
  readonly unread: readonly string[]
  readonly values: { readonly collector: { config: { retentionWeeks: string } } }
}

async function plan(values: unknown, ...args: string[]): Promise<string> {
  const file = join(directory, 'values.yaml')
  writeFileSync(file, stringify(values))
  const env = { DATABASE_URL: installation.url, COLLECTOR_DATABASE_URL: traces.url }
  const { exitCode, stdout, stderr } = await runDoctor(
    ['--from-now', '--values', file, ...args],
    env,
    surroundings(),
  )
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  return stdout
}

const json = async (values: unknown, ...args: string[]): Promise<Answer> =>
  JSON.parse(await plan(values, ...args, '--json')) as Answer

const dateIn = (days: number): string =>
  new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

/** The bytes of a day, so many days ahead, by the line through the first and the last day. */
async function bytesOn(ahead: number): Promise<number> {
  const sizes = (await partitionSizes(sql)).map(({ bytes }) => bytes)
  const [first = 0, last = 0] = [sizes[0], sizes.at(-1)]
  return last + ((last - first) / (DAYS - 1)) * (ahead + 1)
}

/** A limit that so many whole days more reach. */
async function limitIn(days: number): Promise<number> {
  const stored = sumOf((await partitionSizes(sql)).map(({ bytes }) => bytes))
  let limit = stored
  for (let day = 0; day <= days; day += 1) limit += await bytesOn(day)
  return Math.floor(limit)
}

describe('doctor --from-now', () => {
  it('plans by what it has seen, for the load in 90 days, kept for as long as now', async () => {
    const { load, lines, values, unread } = await json({ runs: { retentionDays: 30 } })
    expect(unread).toEqual([])
    const ahead = DAYS + 90
    expect(load.runs.perDay).toBeCloseTo(RUNS.first + RUNS.more * ahead, 0)
    expect(load.spans.perDay).toBeCloseTo(SPANS.first + SPANS.more * ahead, 0)
    expect(values.collector.config.retentionWeeks).toBe('52')
    const basis = Object.fromEntries(lines.map(({ key, from }) => [key, from]))
    expect(basis).toMatchObject({
      'collector.config.maxStorageBytes': 'here',
      'postgres.storage.size': 'here',
      'worker.replicaCount': 'here',
      'collector.replicaCount': 'bench',
    })
  })

  it('lets a part that is said win', async () => {
    const { load } = await json({}, '--plan', '5 runs/s, 7 days')
    expect(load).toMatchObject({ runs: { perDay: 432_000 }, days: 7 })
    expect(load.spans.perDay).toBeCloseTo(SPANS.first + SPANS.more * (DAYS + 90), 0)
  })

  it('names the day on which the limit of bytes is reached, as the collector does', async () => {
    const limit = await limitIn(20)
    const { ends } = await json({ collector: { config: { maxStorageBytes: String(limit) } } })
    const end = ends.find(({ what }) => what.includes('limit of bytes'))
    expect([19, 20, 21].map(dateIn)).toContain(end?.on)
    expect(end?.remedy).toContain('Raise collector.config.maxStorageBytes')
    const sizes = await partitionSizes(sql)
    const total = sumOf(sizes.map(({ bytes }) => bytes))
    const own = { total, keptDays: 364, today: dayOf(Date.now()) }
    expect([19, 20, 21].map(dateIn)).toContain(findFullDay(sizes, { ...own, maxBytes: limit }))
    expect(findFullDay(sizes, { ...own, maxBytes: limit * 1000 })).toBeNull()
    expect(findFullDay(sizes.slice(-6), { ...own, maxBytes: limit })).toBeNull()
  })

  it('names the days of disk, workers and keys, the earliest first', async () => {
    const size = String(40 << 20)
    const small = { postgres: { storage: { size } }, worker: { replicaCount: 1, concurrency: 1 } }
    const { ends } = await json(small)
    const days = ends.map(({ on }) => on ?? '~')
    expect(days).toEqual(days.toSorted())
    const of = (word: string) => ends.find(({ what }) => what.includes(word))?.on
    // The WAL alone is more than such a disk.
    expect(of('disk')).toBe(dateIn(0))
    expect(of('token')).toBe(dateIn(12))
    // 2,400 runs a day of 12 s, three times as many at the peak, are one at a time.
    const full = (86_400 / 12 / 3 - RUNS.first) / RUNS.more - DAYS
    expect([0, 1, 2].map((day) => dateIn(Math.floor(full) + day))).toContain(of('queue'))
    const large = await json({ postgres: { storage: { size: '100Ti' } } })
    expect(large.ends.find(({ what }) => what.includes('disk'))?.on).toBeNull()
  })

  it('prints YAML that no name in the database gets out of its comment', async () => {
    const text = await plan({})
    expect(text).toContain('worker: {replicaCount: 0}')
    expect(parse(text)).toEqual((await json({})).values)
  })

  it('plans by the records, and says so, where a database cannot be read', async () => {
    const empty = await createDatabase('empty')
    try {
      const env = {
        DATABASE_URL: empty.url,
        COLLECTOR_DATABASE_URL: 'postgres://u:s3cret@127.0.0.1:1/x',
      }
      const run = (...args: string[]) => runDoctor(args, env, surroundings())
      const { exitCode, stdout } = await run('--plan', '5 runs/s')
      expect(exitCode).toBe(0)
      expect(stdout).toMatch(/# not read the main database: relation "run_days" does not exist/)
      expect(stdout).toMatch(/# not read the trace database: .*ECONNREFUSED/)
      expect(stdout).not.toContain('s3cret')
      const young = await run('--from-now')
      expect(young).toMatchObject({ exitCode: 64, stdout: '' })
      expect(young.stderr).toContain('Neither database has seven whole days')
    } finally {
      await empty.drop()
    }
  })
})
