import * as v from 'valibot'
import { flag, optional } from '../../shared/env.ts'
import {
  databaseAddress,
  databaseEnv,
  parseAddress,
  postgresUrl,
} from '../../shared/postgres/address.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'

/** The variables for a trace database on Citus. */
export const ddlEnv = {
  /** `true` spreads the spans over the nodes of Citus when the schema is prepared. */
  COLLECTOR_DISTRIBUTE: v.optional(flag(), 'false'),
  /**
   * The coordinator of Citus, for what only it may do: migrations, new and expired days. Needed
   * when the collector writes through another node.
   */
  COLLECTOR_DDL_DATABASE_URL: optional(postgresUrl),
}

const env = v.object({ ...databaseEnv, ...ddlEnv })

/** Reads the address at which tables are created and dropped: of the database, or its own. */
export const ddlAddress = (config: v.InferOutput<typeof env>): DatabaseAddress =>
  config.COLLECTOR_DDL_DATABASE_URL === undefined
    ? databaseAddress(config)
    : parseAddress(config.COLLECTOR_DDL_DATABASE_URL)
