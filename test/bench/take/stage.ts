import { mkdtemp, rm, chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startEmbeddedPostgres } from '../../../services/local/embedded-postgres.ts'
import type * as runQueue from '../../../services/platform/runs/run-queue.ts'
import { createLog } from '../../../services/shared/log.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { migrate } from '../../../services/shared/postgres/migrate.ts'
import { freePort } from '../../support/free-port.ts'
import { seedAutomation } from '../../support/platform.ts'
import { POSTGRES_PASSWORD } from '../../support/postgres-password.ts'

/** How much waits, and in how many lines. */
export interface Load {
  readonly organizations: number
  readonly automations: number
  readonly waiting: number
}

/** The queue of one checkout, full of runs. */
export interface Queue {
  /** Of one connection, so that one process of PostgreSQL does it all. */
  readonly sql: Database
  readonly take: (limit: number) => Promise<runQueue.LeasedRun[]>
}

/** A PostgreSQL with its durable defaults. */
export async function openServer() {
  const directory = await mkdtemp(join(tmpdir(), 'take-'))
  await chmod(directory, 0o755)
  const server = await startEmbeddedPostgres({
    directory: join(directory, 'data'),
    port: await freePort(),
    password: POSTGRES_PASSWORD,
    settings: { max_connections: '100', shared_buffers: '1GB' },
  })
  return {
    url: server.url,
    async close() {
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Makes a database of a checkout, with one connection: one process of PostgreSQL does it all. */
export async function openDatabase(url: string, checkout: string) {
  const root = pathToFileURL(`${resolve(checkout)}/services/platform/`)
  const admin = connectDatabase(parseAddress(url), { name: 'bench', max: 1 })
  const database = `bench_${Math.random().toString(36).slice(2)}`
  await admin.unsafe(`create database ${database}`)
  await admin.end()
  const address = { ...parseAddress(url), database }
  const sql = connectDatabase(address, { name: 'bench', max: 1 })
  await migrate(sql, new URL('migrations/', root), createLog({ name: 'bench', level: 'silent' }))
  return { root, address, sql }
}

/** Ends runs without what a worker reports of them. */
export const endRuns = (sql: Database, ids: readonly string[]) => sql`
  update executions set status = 'completed', output = '', finished_at = now(),
    lease_id = null, lease_expires_at = null
  where id = any (${[...ids]})`

/** Makes a database of a checkout and fills its queue. */
export async function openQueue(url: string, checkout: string, load: Load): Promise<Queue> {
  const { root, sql } = await openDatabase(url, checkout)
  const { takeRuns }: typeof runQueue = await import(new URL('runs/run-queue.ts', root).href)
  await fill(sql, load)
  return { sql, take: (limit) => takeRuns(sql, limit) }
}

async function fill(sql: Database, { organizations, automations, waiting }: Load): Promise<void> {
  const { id } = await seedAutomation(sql, { organization: 'Acme', slug: 'first' })
  await sql`
    insert into organizations (name)
    select 'Organization ' || n from generate_series(2, ${organizations}) n`
  await sql`
    insert into projects (organization_id, name)
    select id, 'Project' from organizations where name <> 'Acme'`
  await sql`
    insert into project_versions (project_id, organization_id, number, definition, published_at)
    select p.id, p.organization_id, 1, v.definition, now()
    from projects p, project_versions v where p.name = 'Project'`
  await sql`
    insert into deployments (organization_id, project_version_id, name, slug, app_id, status, url)
    select v.organization_id, v.id, 'automation-' || n, 'automation-' || n, 'app-' || n, d.status,
      d.url
    from deployments d, generate_series(2, ${automations}) n join lateral (
      select id, organization_id from project_versions order by id
      offset n % ${organizations} limit 1) v on true
    where d.id = ${id}`
  // Without triggers and foreign keys, which take minutes for a million.
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`set local statement_timeout = 0`
    await tx`
      insert into executions (deployment_id, organization_id, project_version_id, inputs)
      select d.id, d.organization_id, d.project_version_id, '{"topic": "whales"}'
      from generate_series(1, ${waiting}) n join (
        select *, row_number() over (order by id) - 1 as place from deployments) d
      on d.place = n % ${automations}`
    const [lines] = await tx`select from pg_class where relname = 'queue_changes'`
    if (!lines) return
    await tx`
      insert into queue_changes (deployment_id, organization_id)
      select id, organization_id from deployments`
  })
  await sql`set statement_timeout = 0`
  await sql`vacuum analyze`
}
