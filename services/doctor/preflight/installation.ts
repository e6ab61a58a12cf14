import * as v from 'valibot'
import type { EnvSource } from '../../shared/env.ts'
import {
  databaseAddress,
  databaseEnv,
  parseAddress,
  postgresUrl,
} from '../../shared/postgres/address.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import { readEnv } from '../../shared/env.ts'
import type { ChartValues } from './values.ts'

/** A database to check, or why there is none to check. */
export type DatabasePlan = { readonly address: DatabaseAddress } | { readonly reason: string }

/** An installation that is to be made. */
export interface Installation {
  /** `registry.example.com/crew-platform/platform:1.13.0`; none where no registry is named. */
  readonly images: readonly string[]
  /** The StorageClasses of its volumes; the empty text is the default one. */
  readonly storageClasses: readonly string[]
  readonly database: DatabasePlan
  readonly collectorDatabase: DatabasePlan
  /** Undefined for sign-in with passwords. */
  readonly issuer: string | undefined
  readonly authProvider: string
}

const addresses = v.object({
  ...databaseEnv,
  COLLECTOR_DATABASE_URL: v.optional(postgresUrl),
})

/**
 * Plans the checks of an installation by its values; the database's variables of the environment
 * win over them. Raises `invalid_configuration` for variables that are none.
 */
export function planInstallation(
  values: ChartValues,
  { env, version }: { env: EnvSource; version: string },
): Installation {
  const { auth, postgres, internalRegistry } = values
  const issuer = env['OIDC_ISSUER_URL'] ?? auth.issuerUrl
  return {
    images: imagesOf(values, version),
    storageClasses: [
      ...(postgres.enabled ? [postgres.storage.className] : []),
      ...(internalRegistry.enabled ? [internalRegistry.storage.className] : []),
    ].map(String),
    ...databasesOf(values, env),
    issuer: issuer ? issuer.replace(/\/+$/, '') : undefined,
    authProvider: issuer && auth.provider === 'local' ? 'oidc' : String(auth.provider),
  }
}

function imagesOf(values: ChartValues, version: string): readonly string[] {
  const { registry, namePrefixOverride } = values.global.image
  const { image, collector, postgres, internalRegistry, buildkit } = values
  const parts = [
    { image, isUsed: true },
    { image: collector.image, isUsed: collector.enabled },
    { image: postgres.image, isUsed: postgres.enabled },
    { image: internalRegistry.image, isUsed: internalRegistry.enabled },
    { image: buildkit.image, isUsed: buildkit.enabled },
  ]
  return parts.flatMap(({ image: { host, name, tag, digest }, isUsed }) => {
    const place = host || registry
    if (!isUsed || !place) return []
    const path = namePrefixOverride ? `${namePrefixOverride}/${baseOf(String(name))}` : name
    return [`${place}/${path}${digest ? `@${digest}` : `:${tag || version}`}`]
  })
}

const baseOf = (name: string): string => name.split('/').at(-1) ?? name

function databasesOf(
  values: ChartValues,
  env: EnvSource,
): Pick<Installation, 'database' | 'collectorDatabase'> {
  const { postgres, collector } = values
  const read = readEnv(addresses, env)
  const database = mainDatabase(values, env)
  const own = read.COLLECTOR_DATABASE_URL
  const collectorDatabase = (): DatabasePlan => {
    if (!collector.enabled) return { reason: 'the collector is switched off' }
    if (own) return { address: parseAddress(own) }
    if (collector.database.host) {
      return { reason: 'it is on a server of its own: set COLLECTOR_DATABASE_URL' }
    }
    return 'address' in database
      ? { address: { ...database.address, database: String(postgres.collectorDatabase) } }
      : database
  }
  return { database, collectorDatabase: collectorDatabase() }
}

function mainDatabase(
  { envVars, postgres, dbProxy, secrets }: ChartValues,
  env: EnvSource,
): DatabasePlan {
  const read = readEnv(addresses, env)
  if (read.DATABASE_URL || read.DB_HOST) return { address: databaseAddress(read) }
  if (postgres.enabled) return { reason: 'the chart brings its own PostgreSQL' }
  if (dbProxy.enabled) {
    return { reason: 'it is behind a proxy: run the proxy here and set DATABASE_URL' }
  }
  const settings = { ...envVars, DB_PORT: String(envVars.DB_PORT) }
  const password = env['DB_PASSWORD'] ?? String(secrets.DB_PASSWORD)
  return { address: databaseAddress(readEnv(addresses, { ...settings, DB_PASSWORD: password })) }
}
