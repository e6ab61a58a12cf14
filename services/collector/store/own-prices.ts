import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { openForChanges } from '../change-connection.ts'
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

/** Any number: of two lists of an organization the later one has to see the earlier one. */
const LOCK = 7_310_452_131

/** Opens no connection before the first list. */
export function createOwnPrices(address: DatabaseAddress): OwnPrices {
  const { sql, make, close } = openForChanges(address, 'collector-prices')
  return {
    async replace(organization, prices) {
      const owned = prices.map((price) => ({ ...price, organization }))
      await make(() =>
        sql.begin(async (tx) => {
          await tx`select pg_advisory_xact_lock(${LOCK})`
          await tx`delete from organization_prices where organization = ${organization}`
          await tx.unsafe(`insert into organization_prices select * from ${pricesOf(owned)}`)
        }),
      )
    },
    close,
  }
}
