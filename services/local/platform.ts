import { join } from 'node:path'
import postgres from 'postgres'
import { PROVIDER_VARIABLES } from '../platform/connections/llm-providers.ts'
import { originsOf, readerOf } from '../platform/connections/llm-usage.ts'
import { connectDatabase } from '../shared/postgres/database.ts'
import { parseAddress } from '../shared/postgres/address.ts'
import type { Database } from '../shared/postgres/database.ts'
import type { EnvSource } from '../shared/env.ts'
import type { Log } from '../shared/log.ts'
import { machineVariables } from '../shared/machine-variables.ts'
import { migrate } from '../shared/postgres/migrate.ts'
import { explainFullDisk } from './disk-full.ts'
import { keepPostgres } from './keep-postgres.ts'
import type { Owner, Stoppable } from './owner.ts'
import { writeSecrets } from './secrets.ts'
import type { LocalSecrets } from './secrets.ts'
import { seed } from './seed.ts'
import type { Seeded } from './seed.ts'

/** The two databases of a local platform. */
export interface Databases {
  readonly platformUrl: string
  readonly collectorUrl: string
  /** The end of what PostgreSQL has written about itself. */
  readonly output: () => string
}

interface DatabaseOptions {
  readonly directory: string
  readonly port: number
  readonly password: string
  readonly cache: string
  /** Reports to people what happens to the server. */
  readonly say: (line: string) => void
}

/**
 * Starts PostgreSQL on the data directory, with an empty database for the collector beside the main
 * one.
 */
export async function startDatabases(
  owner: Owner,
  { directory, port, password, cache, say }: DatabaseOptions,
): Promise<Databases> {
  const server = await owner.own(
    keepPostgres({ directory: join(directory, 'postgres'), port, password, cache }, say),
  )
  await createDatabases(server.url).catch(async (thrown: unknown) => {
    await server.stop()
    throw explainFullDisk(thrown, { directory, output: server.output() })
  })
  return {
    platformUrl: databaseUrl(server.url, 'platform'),
    collectorUrl: databaseUrl(server.url, 'collector'),
    output: server.output,
  }
}

async function createDatabases(serverUrl: string): Promise<void> {
  const admin = postgres(serverUrl, { max: 1, onnotice: () => {} })
  try {
    const existing = await admin<{ datname: string }[]>`select datname from pg_database`
    const names = new Set(existing.map(({ datname }) => datname))
    for (const name of ['platform', 'collector']) {
      if (!names.has(name)) await admin.unsafe(`create database ${name}`)
    }
  } finally {
    await admin.end({ timeout: 5 })
  }
}

function databaseUrl(serverUrl: string, name: string): string {
  return serverUrl.replace(/\/postgres$/, `/${name}`)
}

interface MainDatabase {
  readonly url: string
  readonly directory: string
  readonly secrets: LocalSecrets
  /** Of the built-in model, unless the user's own is configured. */
  readonly modelUrl: string | undefined
  readonly log: Log
}

/** The open main database, and what is in it to try. */
export interface SeededDatabase {
  readonly sql: Database
  readonly seeded: Seeded
}

/** Opens the main database with this version's schema and what there is to try. */
export async function openSeeded(
  owner: Owner,
  { url, directory, secrets, modelUrl, log }: MainDatabase,
): Promise<SeededDatabase> {
  const sql = connectDatabase(parseAddress(url), { name: 'local', max: 2 })
  await owner.own(Promise.resolve({ stop: () => sql.end({ timeout: 5 }) }))
  await migrate(sql, new URL('../platform/migrations/', import.meta.url), log)
  const seeded = await seed(sql, secrets, modelUrl)
  await writeSecrets(directory, { ...secrets, staticToken: seeded.staticToken })
  return { sql, seeded }
}

/** The crews' model: the user's own where one is configured, else the built-in one. */
export async function modelEnv(
  owner: Owner,
  source: EnvSource,
  startBuiltIn: () => Promise<Stoppable & { readonly url: string }>,
): Promise<EnvSource> {
  const { OPENAI_API_KEY, OPENAI_BASE_URL } = source
  if (hasOwnModel(source)) return { OPENAI_API_KEY, OPENAI_BASE_URL }
  const model = await owner.own(startBuiltIn())
  return { OPENAI_BASE_URL: `${model.url}/v1` }
}

const OUTGOING_VARIABLES = new Set([
  'WEBHOOK_PRIVATE_ORIGINS',
  'GIT_PRIVATE_ORIGINS',
  'TOOLS_UPSTREAM',
  'TOOLS_UPSTREAM_USERNAME',
  'TOOLS_UPSTREAM_PASSWORD',
  'TOOLS_UPSTREAM_PRIVATE_ORIGINS',
  'NODE_EXTRA_CA_CERTS',
])

/**
 * The credentials of LLM providers among some variables, the receivers of webhooks and the Git
 * servers at private addresses, the public index, and the authorities that are trusted.
 */
export function providerVariables(source: EnvSource): EnvSource {
  const isPassed = (name: string): boolean =>
    PROVIDER_VARIABLES.has(name) || OUTGOING_VARIABLES.has(name)
  return Object.fromEntries(Object.entries(source).filter(([name]) => isPassed(name)))
}

/** The variables of a worker that runs crews as processes of this machine. */
export const crewVariables = (
  source: EnvSource,
  { directory, webUrl, modelUrl }: Readonly<Record<'directory' | 'webUrl' | 'modelUrl', string>>,
): EnvSource => ({
  ...machineVariables(source),
  CREW_PROCESSES_DIRECTORY: join(directory, 'crews'),
  CREW_TOOLS_URL: webUrl,
  // Where the user's own model is configured, its key is not for every program that is tried out.
  ...(hasOwnModel(source) ? {} : { CREW_MODEL_URL: `${modelUrl}/v1` }),
})

const hasOwnModel = ({ OPENAI_API_KEY, OPENAI_BASE_URL }: EnvSource): boolean =>
  Boolean(OPENAI_API_KEY ?? OPENAI_BASE_URL)

/** The variables with the private origins that organizations may name. */
export interface PrivateOrigins {
  readonly LLM_PRIVATE_ORIGINS: string
  readonly TOOL_PRIVATE_ORIGINS: string
  readonly CONNECTION_PRIVATE_ORIGINS: string
}

/**
 * Returns the private origins that LLM connections may use, which are those that the user's
 * variables list or name, and `ownModel`; and those that tools and connections may use.
 */
export function privateOriginsOf(source: EnvSource, ownModel: string): PrivateOrigins {
  const listed = (source['LLM_PRIVATE_ORIGINS'] ?? '').split(',').filter(Boolean)
  const named = originsOf(readerOf(source))
  return {
    LLM_PRIVATE_ORIGINS: [...new Set([...listed, ...named, ownModel])].join(','),
    TOOL_PRIVATE_ORIGINS: source['TOOL_PRIVATE_ORIGINS'] ?? '',
    CONNECTION_PRIVATE_ORIGINS: source['CONNECTION_PRIVATE_ORIGINS'] ?? '',
  }
}
