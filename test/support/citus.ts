import { randomBytes } from 'node:crypto'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import type { DatabaseAddress } from '../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import type { Database } from '../../services/shared/postgres/database.ts'
import { sqlState } from '../../services/shared/postgres/failures.ts'
import { createLog } from '../../services/shared/log.ts'
import { prepareSchema } from '../../services/collector/schema.ts'
import { addressUrl } from './address-url.ts'
import type { TestDatabase } from './postgres.ts'
import { until } from './until.ts'

/** The coordinator of a Citus to test with, as `test/citus/README.md` starts it. */
export const citusUrl: string | undefined = process.env['CITUS_DATABASE_URL'] || undefined

/** A database of Citus, on all of its nodes. */
export interface CitusDatabase extends TestDatabase {
  /** Of the workers, through which spans can be written, too. */
  readonly workerUrls: readonly string[]
}

/**
 * Creates a database on every node of the coordinator's cluster. It uses so many of the workers,
 * all by default; `workerUrls` has the others, too, behind those that it uses.
 */
export async function createCitusDatabase(
  coordinatorUrl: string,
  { used = Infinity }: { used?: number } = {},
): Promise<CitusDatabase> {
  const [coordinator, ...workers] = await listNodes(coordinatorUrl)
  const database = freshName()
  for (const node of [coordinator, ...workers]) {
    await onServer(node, `create database ${database}`)
    await withDatabase({ ...node, database }, (sql) => sql`create extension citus`)
  }
  await withDatabase({ ...coordinator, database }, async (sql) => {
    await sql`select citus_set_coordinator_host(${coordinator.host}, ${coordinator.port}::int)`
    for (const { host, port } of workers.slice(0, used))
      await sql`select citus_add_node(${host}, ${port}::int)`
  })
  return toDatabase([coordinator, ...workers], database)
}

/** A few: each is a table for each day, which a test has to wait for. */
const TEMPLATE_SHARDS = 4

/**
 * Creates a database to make others of, with the schema of the collector and distributed spans.
 * Nobody can connect to it.
 */
export async function createCitusTemplate(coordinatorUrl: string): Promise<CitusDatabase> {
  const template = await createCitusDatabase(coordinatorUrl)
  const address = parseAddress(template.url)
  await withDatabase(address, (sql) =>
    sql.unsafe(`alter database ${address.database} set citus.shard_count = ${TEMPLATE_SHARDS}`),
  )
  const log = createLog({ name: 'test', level: 'silent' })
  const options = { createDatabase: false, distribute: true, timeoutMs: 60_000, log }
  await prepareSchema({ ...options, address })
  for (const node of await listNodes(coordinatorUrl)) await closeToAll(node, address.database)
  return template
}

/** Copies a template, with what Citus knows of it, on each node. */
export async function cloneCitusDatabase(
  coordinatorUrl: string,
  templateUrl: string,
): Promise<CitusDatabase> {
  const [nodes, database] = [await listNodes(coordinatorUrl), freshName()]
  const { database: template } = parseAddress(templateUrl)
  const statement = `create database ${database} template ${template} strategy file_copy`
  await Promise.all(nodes.map((node) => onServer(node, statement)))
  return toDatabase(nodes, database)
}

const freshName = (): string => `test_${randomBytes(6).toString('hex')}`

type Nodes = readonly [coordinator: DatabaseAddress, ...workers: DatabaseAddress[]]

async function listNodes(coordinatorUrl: string): Promise<Nodes> {
  const coordinator = parseAddress(coordinatorUrl)
  const workers = await withDatabase(
    coordinator,
    (sql) => sql<{ host: string; port: number }[]>`
      select nodename as host, nodeport as port from pg_dist_node
      where groupid > 0 order by groupid`,
  )
  return [coordinator, ...workers.map((worker) => ({ ...coordinator, ...worker }))]
}

function toDatabase(nodes: Nodes, database: string): CitusDatabase {
  const [url = '', ...workerUrls] = nodes.map((node) => addressUrl({ ...node, database }))
  return {
    url,
    workerUrls,
    async drop() {
      const drop = (node: DatabaseAddress): Promise<boolean> => dropDatabase(node, database)
      await Promise.all(nodes.map((node) => until(() => drop(node), { timeoutMs: 60_000 })))
    },
  }
}

/** Citus has a session of its own in a database, which begins with anyone's. */
async function closeToAll(node: DatabaseAddress, database: string): Promise<void> {
  await onServer(node, `alter database ${database} allow_connections false`)
  await withDatabase(
    node,
    (sql) =>
      sql`
        select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = ${database}`,
  )
}

/** Citus would send it to the other nodes by itself, one after the other. */
const onServer = (node: DatabaseAddress, statement: string): Promise<unknown> =>
  withDatabase(node, async (sql) => {
    await sql`set citus.enable_ddl_propagation = off`
    await sql.unsafe(statement)
  })

/** False while a session of it is still ending, such as that of the maintenance of Citus. */
async function dropDatabase(node: DatabaseAddress, database: string): Promise<boolean> {
  try {
    await onServer(node, `drop database if exists ${database} with (force)`)
    return true
  } catch (thrown) {
    if (sqlState(thrown) !== '55006') throw thrown
    return false
  }
}

async function withDatabase<Result>(
  address: DatabaseAddress,
  use: (sql: Database) => Promise<Result>,
): Promise<Result> {
  const sql = connectDatabase(address, { name: 'test-citus', max: 1 })
  try {
    return await use(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}
