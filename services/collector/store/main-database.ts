import type { Database } from '../../shared/postgres/database.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { AppError } from '../../shared/errors.ts'

/**
 * Raises `invalid_configuration` for the main database of the platform, recognised by its tables:
 * the collector never uses it (SPEC appendix 3). Reads only, so that nothing has changed there when
 * it refuses.
 */
export async function refuseMainDatabase(
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
