import * as v from 'valibot'
import { connectDatabase } from '../shared/postgres/database.ts'
import { databaseEnv } from '../shared/postgres/address.ts'
import { sqlState } from '../shared/postgres/failures.ts'
import type { DatabaseAddress } from '../shared/postgres/address.ts'
import type { Database } from '../shared/postgres/database.ts'
import { flag, logLevel, readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import { AppError, toError } from '../shared/errors.ts'
import { createLog } from '../shared/log.ts'
import type { Log } from '../shared/log.ts'
import { migrate } from '../shared/postgres/migrate.ts'
import { proofEnv, requireProof } from '../shared/postgres/upgrade-proof.ts'
import type { ProofConfig } from '../shared/postgres/upgrade-proof.ts'
import { explain } from '../shared/run.ts'
import { waitForDatabase } from '../shared/postgres/wait-for-database.ts'
import { ddlAddress, ddlEnv } from './store/ddl-address.ts'
import { distribute } from './store/spans/distribution.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)
/** The time that the migration waits for PostgreSQL, which may be starting at the same time. */
const WAIT_MS = 300_000

/** The database to prepare, and the time that it may take. */
interface SchemaOptions {
  readonly address: DatabaseAddress
  /**
   * Create the database when it is missing (SPEC appendix 1); otherwise that is an error (appendix
   * 2).
   */
  readonly createDatabase: boolean
  /** Spread the spans over the nodes of Citus. */
  readonly distribute: boolean
  readonly timeoutMs: number
  /** What is asked of verdicts of upgrades. @default nothing */
  readonly proof?: ProofConfig
  readonly log: Log
}

/**
 * Waits for PostgreSQL and brings the schema up to date; returns its version. Safe in many replicas
 * at once.
 */
export async function prepareSchema(options: SchemaOptions): Promise<number> {
  const { address, log } = options
  await waitOrCreate(options)
  const sql = connectDatabase(address, { name: 'collector-migrate', max: 1 })
  try {
    await refuseMainDatabase(sql, address)
    if (options.proof) {
      const demand = { config: options.proof, database: 'collector', log } as const
      await requireProof(sql, MIGRATIONS, demand)
    }
    const version = await migrate(sql, MIGRATIONS, log)
    if (options.distribute) await distribute(sql, log)
    return version
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function waitOrCreate({ address, createDatabase, timeoutMs, log }: SchemaOptions) {
  try {
    await waitForDatabase(address, { timeoutMs, log })
  } catch (thrown) {
    if (sqlState(toError(thrown).cause) !== '3D000') throw thrown
    if (!createDatabase) throw databaseMissing(address)
    await createMissing(address)
    log.info({ database: address.database }, 'database created')
  }
}

const databaseMissing = ({ database, host, port }: DatabaseAddress): AppError =>
  new AppError(
    'invalid_configuration',
    `The database "${database}" does not exist at ${host}:${port}. Create it, ` +
      'give the user all privileges on it, and try again.',
  )

/** 42P04 and, in a race, 23505: another replica was faster. */
const EXISTS = new Set(['42P04', '23505'])

async function createMissing(address: DatabaseAddress): Promise<void> {
  const maintenance = { ...address, database: 'postgres' }
  const sql = connectDatabase(maintenance, { name: 'collector-create', max: 1 })
  try {
    await sql.unsafe(`create database "${address.database.replaceAll('"', '""')}"`)
  } catch (thrown) {
    if (!EXISTS.has(sqlState(thrown) ?? '')) throw thrown
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const migrateEnv = v.object({
  ...databaseEnv,
  ...ddlEnv,
  ...proofEnv,
  LOG_LEVEL: logLevel,
  COLLECTOR_CREATE_DATABASE: v.optional(flag(), 'false'),
})

/**
 * `main.js migrate`, the collector's init container: exit code 0 when the schema is ready, 1 with
 * the reason.
 */
export async function runMigration(source: EnvSource): Promise<void> {
  try {
    const env = readEnv(migrateEnv, source)
    const log = createLog({ name: 'collector-migrate', level: env.LOG_LEVEL })
    const { COLLECTOR_CREATE_DATABASE: createDatabase, COLLECTOR_DISTRIBUTE: distributes } = env
    const options = { createDatabase, distribute: distributes, timeoutMs: WAIT_MS, log }
    const version = await prepareSchema({ ...options, proof: env, address: ddlAddress(env) })
    log.info({ version }, 'the schema is up to date')
  } catch (thrown) {
    process.stderr.write(`${explain(thrown)}\n`)
    process.exitCode = 1
  }
}

/**
 * Raises `invalid_configuration` for the main database of the platform, recognised by its tables:
 * the collector never uses it (SPEC appendix 3). Reads only, so that nothing has changed there when
 * it refuses.
 */
async function refuseMainDatabase(
  sql: Database,
  { database, host, port }: DatabaseAddress,
): Promise<void> {
  const [found] = await sql<{ isMain: boolean }[]>`
    select to_regclass('organizations') is not null and to_regclass('project_versions') is not null
      and to_regclass('executions') is not null as is_main`
  if (!found?.isMain) return
  throw new AppError(
    'invalid_configuration',
    `"${database}" at ${host}:${port} is the main database of the platform, and traces never ` +
      'go there. Set DB_NAME or DATABASE_URL of the collector (chart: ' +
      'postgres.collectorDatabase) to a database of its own.',
  )
}
