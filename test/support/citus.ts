import { randomBytes } from 'node:crypto'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import type { DatabaseAddress } from '../../services/shared/postgres/address.ts'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import type { Database } from '../../services/shared/postgres/database.ts'
import { sqlState } from '../../services/shared/postgres/failures.ts'
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
  const coordinator = parseAddress(coordinatorUrl)
  const database = `test_${randomBytes(6).toString('hex')}`
  const workers = await withDatabase(coordinator, listWorkers)
  const nodes = [coordinator, ...workers.map((worker) => ({ ...coordinator, ...worker }))]
  for (const node of nodes) await onServer(node, `create database ${database}`)
  for (const node of nodes) {
    await withDatabase({ ...node, database }, (sql) => sql`create extension citus`)
  }
  await withDatabase({ ...coordinator, database }, async (sql) => {
    await sql`select citus_set_coordinator_host(${coordinator.host}, ${coordinator.port}::int)`
    for (const { host, port } of workers.slice(0, used))
      await sql`select citus_add_node(${host}, ${port}::int)`
  })
  const [url = '', ...workerUrls] = nodes.map((node) => addressUrl({ ...node, database }))
  return {
    url,
    workerUrls,
    async drop() {
      for (const node of nodes) {
        await until(() => dropDatabase(node, database), { timeoutMs: 60_000 })
      }
    },
  }
}

const listWorkers = (sql: Database) =>
  sql<{ host: string; port: number }[]>`
    select nodename as host, nodeport as port from pg_dist_node where groupid > 0 order by groupid`

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
