import { deadline } from '../../shared/deadline.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { pricesOf } from './roll-ups/call-cost.ts'

/** The prices that organizations entered, on a connection of its own. */
export interface OwnPrices {
  /**
   * Replaces those of an organization; an empty text is the platform itself. Calls that are rolled
   * up from then on have them. Raises `timeout` and errors of the database.
   */
  replace(organization: string, prices: readonly Price[]): Promise<void>
  close(): Promise<void>
}

const STATEMENT_MS = 3000
/** Within the time that the readers of an answer have. */
const DEADLINE_MS = 5000
/** Any number: of two lists of an organization the later one has to see the earlier one. */
const LOCK = 7_310_452_131

/** Opens no connection before the first list. */
export function createOwnPrices(address: DatabaseAddress): OwnPrices {
  const limits = { max: 1, statementTimeoutMs: STATEMENT_MS, connectTimeoutMs: 3000 }
  const sql = connectDatabase(address, { name: 'collector-prices', ...limits })
  return {
    async replace(organization, prices) {
      const owned = prices.map((price) => ({ ...price, organization }))
      await deadline({ name: 'The trace database', timeoutMs: DEADLINE_MS }, () =>
        sql.begin(async (tx) => {
          await tx`select pg_advisory_xact_lock(${LOCK})`
          await tx`delete from organization_prices where organization = ${organization}`
          await tx.unsafe(`insert into organization_prices select * from ${pricesOf(owned)}`)
        }),
      )
    },
    close: () => sql.end({ timeout: 1 }),
  }
}
