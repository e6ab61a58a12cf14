import packageJson from '../../package.json' with { type: 'json' }
import { connectDatabase } from '../shared/postgres/database.ts'
import type { Database } from '../shared/postgres/database.ts'
import type { DatabaseAddress } from '../shared/postgres/address.ts'
import type { Log } from '../shared/log.ts'
import { migrate } from '../shared/postgres/migrate.ts'
import { MIGRATIONS } from './migrations.ts'
import { requireProof } from '../shared/postgres/upgrade-proof.ts'
import type { ProofConfig } from '../shared/postgres/upgrade-proof.ts'
import { waitForDatabase } from '../shared/postgres/wait-for-database.ts'

interface MigratedDatabase {
  readonly address: DatabaseAddress
  /** The wait for an unavailable database. */
  readonly waitMs: number
  readonly config: ProofConfig
  readonly log: Log
}

/**
 * Waits for PostgreSQL, brings the main database to this version's schema, and hands it over. Safe
 * to run many times at once.
 */
export async function withMigratedDatabase<Result>(
  { address, waitMs, config, log }: MigratedDatabase,
  use: (sql: Database) => Promise<Result>,
): Promise<Result> {
  await waitForDatabase(address, { timeoutMs: waitMs, log })
  const sql = connectDatabase(address, { name: 'tasks', max: 1 })
  try {
    const demand = { config, database: 'main', platform: packageJson.version, log } as const
    await requireProof(sql, MIGRATIONS.main, demand)
    const version = await migrate(sql, MIGRATIONS.main, log)
    log.info({ version }, 'the main database is up to date')
    return await use(sql)
  } finally {
    await sql.end({ timeout: 5 })
  }
}
