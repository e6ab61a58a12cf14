import * as v from 'valibot'
import { readEnv } from '../shared/env.ts'
import type { EnvSource } from '../shared/env.ts'
import {
  databaseAddress,
  databaseEnv,
  parseAddress,
  postgresUrl,
} from '../shared/postgres/address.ts'

const addresses = v.object({ ...databaseEnv, COLLECTOR_DATABASE_URL: v.optional(postgresUrl) })

/**
 * Reads the logins of the databases that the environment has; undefined for one that it does not
 * name. Raises `invalid_configuration` for half of one.
 */
export function readDatabases(env: EnvSource) {
  const { COLLECTOR_DATABASE_URL: traces, ...main } = readEnv(addresses, env)
  return {
    main: main.DATABASE_URL || main.DB_HOST ? databaseAddress(main) : undefined,
    traces: traces === undefined ? undefined : parseAddress(traces),
  }
}
