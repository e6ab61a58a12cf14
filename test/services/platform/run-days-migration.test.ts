import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import postgres from 'postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../services/shared/log.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { createDatabase } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

const folder = new URL('../../../services/platform/migrations/', import.meta.url)
const log = createLog({ name: 'test', level: 'silent' })
const RUNS = 40
let database: TestDatabase
let sql: Database
let deploymentId: number
let directory: string

/** Applies the files before the one of this name; all by default. */
async function migrateTo(end?: string): Promise<void> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).toSorted()
  const count = end === undefined ? files.length : files.findIndex((each) => each.includes(end))
  for (const file of files.slice(0, count)) {
    await copyFile(new URL(file, folder), join(directory, file))
  }
  const migrating = connectDatabase(parseAddress(database.url), { name: 'migrate', max: 1 })
  await migrate(migrating, pathToFileURL(`${directory}/`), log)
  await migrating.end()
}

/** Inserts an automation into the schema of then, which the verbs of today do not know. */
async function insertAutomation(): Promise<number> {
  const [row] = await sql<[{ id: number }]>`
    with organization as (insert into organizations (name) values ('Acme') returning id),
    project as (
      insert into projects (organization_id, name) select id, 'a' from organization
      returning id, organization_id),
    version as (
      insert into project_versions (project_id, organization_id, number, definition, published_at)
      select id, organization_id, 1, '{}', now() from project returning id, organization_id)
    insert into deployments (organization_id, project_version_id, name, slug, app_id)
    select organization_id, id, 'a', 'a', 'a' from version returning id`
  return row.id
}

/** What programs of the version before write of a run, again and again. */
async function writeRuns(signal: AbortSignal): Promise<string[]> {
  const written: string[] = []
  while (!signal.aborted) {
    const id = await sql.begin(async (tx) => {
      const [run] = await tx<[{ id: string }]>`
        insert into executions (deployment_id, inputs) values (${deploymentId}, '{}') returning id`
      await tx`
        insert into execution_events (execution_id, attempt, position, event)
        values (${run.id}, 1, 0, '{"type":"task_started"}') on conflict do nothing`
      await tx`
        insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
          started_at)
        values (${run.id}, 'a', coalesce((
          select max(position) from run_steps where run_id = ${run.id}), 0), 'llm', 'n', '[]',
          'started', 1, now())
        on conflict (run_id, step_key) do update set attempt = excluded.attempt
        where run_steps.state <> 'finished'`
      return run.id
    })
    written.push(id)
  }
  return written
}

beforeEach(async () => {
  database = await createDatabase('empty')
  sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 3 })
  directory = await mkdtemp(join(tmpdir(), 'migrations-'))
  await migrateTo('_undated_runs.sql')
  deploymentId = await insertAutomation()
  await sql`
    insert into executions (deployment_id, inputs)
    select ${deploymentId}, '{}' from generate_series(1, ${RUNS})`
  await sql`
    insert into execution_events (execution_id, attempt, position, event)
    select id, 1, 0, '{"type":"crew_started"}' from executions`
  await sql`insert into run_payloads select id, 'a', '{}' from executions`
})

afterEach(async () => {
  await sql.end()
  await database.drop()
  await rm(directory, { recursive: true })
})

describe('the migration to days of runs', () => {
  it('loses nothing of those who write meanwhile as the version before did', async () => {
    const over = new AbortController()
    const writers = [writeRuns(over.signal), writeRuns(over.signal)]
    await migrateTo()
    const [{ count: before }] = await sql<[{ count: number }]>`
      select count(*)::int as count from executions`
    for (let now = before; now < before + 10;) {
      const [row] = await sql<[{ count: number }]>`
        select count(*)::int as count from executions`
      now = row.count
    }
    over.abort()
    const ids = (await Promise.all(writers)).flat()
    const [events] = await sql`
      select count(*)::int as all, count(*) filter (where number = 1)::int as first,
        count(*) filter (where run_day(execution_id) is null)::int > ${RUNS} as some_undated,
        count(run_day(execution_id)) > 0 as some_dated
      from execution_events`
    const rows = ids.length + RUNS
    expect(events).toEqual({ all: rows, first: rows, someUndated: true, someDated: true })
    expect(await sql`select from run_steps where run_id = any (${ids})`).toHaveLength(ids.length)
    expect(await sql`select from run_payloads`).toHaveLength(RUNS)
  })

  it('takes the tables over without a look at their rows', async () => {
    await migrateTo('_run_days.sql')
    const [file] = (await readdir(folder)).filter((name) => name.endsWith('_run_days.sql'))
    const statements = await readFile(new URL(file ?? '', folder), 'utf8')
    const told: string[] = []
    const watched = postgres(database.url, {
      max: 1,
      onnotice: ({ message = '' }) => void told.push(message),
      connection: { client_min_messages: 'debug1' },
    })
    await watched.begin((tx) => tx.unsafe(statements).simple())
    await watched.end()
    const proved = told.filter((message) =>
      /constraint for table "\w+_undated" is imp/.test(message),
    )
    expect(proved).toHaveLength(4)
  })
})
