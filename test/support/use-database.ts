import { afterAll, beforeAll } from 'vitest'
import { connectDatabase } from '../../services/shared/postgres/database.ts'
import type { Database } from '../../services/shared/postgres/database.ts'
import { parseAddress } from '../../services/shared/postgres/address.ts'
import { createDatabase, POOL_SIZE } from './postgres.ts'
import type { TestDatabase } from './postgres.ts'

/** The migrated database of a test file, which is there once its hooks and tests run. */
export interface OpenDatabase {
  readonly sql: Database
  readonly url: string
}

/** Gives the tests of a file a migrated database of their own, as long as they run. */
export function useDatabase(pool: { max?: number } = {}): OpenDatabase {
  let database: TestDatabase
  let sql: Database
  beforeAll(async () => {
    database = await createDatabase('platform')
    sql = connectDatabase(parseAddress(database.url), { name: 'test', max: POOL_SIZE, ...pool })
  })
  afterAll(async () => {
    await sql.end()
    await database.drop()
  })
  return {
    get sql() {
      return sql
    },
    get url() {
      return database.url
    },
  }
}
