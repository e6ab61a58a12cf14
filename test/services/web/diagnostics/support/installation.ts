import { beforeAll } from 'vitest'
import type { OpenDatabase } from '../../../../support/use-database.ts'
import { useDatabase } from '../../../../support/use-database.ts'
import { install } from './web.ts'

/** The database of an installation, with the id of its internal organization. */
interface Installation extends OpenDatabase {
  readonly organizationId: number
}

/** Gives the tests of a file the database of an installation, as long as they run. */
export function useInstallation(): Installation {
  const database = useDatabase({ max: 2 })
  let organizationId: number
  beforeAll(async () => {
    organizationId = await install(database.sql)
  })
  return {
    get sql() {
      return database.sql
    },
    get url() {
      return database.url
    },
    get organizationId() {
      return organizationId
    },
  }
}
