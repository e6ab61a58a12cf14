import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { start as startCollector } from './collector/start.ts'
import { start as startCrew } from './crew/start.ts'
import { userCache } from './local/data-template.ts'
import { explainFullDisk } from './local/disk-full.ts'
import { writeEnvFile } from './local/env-file.ts'
import { openLogFile } from './local/log-file.ts'
import { startModel } from './local/model.ts'
import { readOptions, USAGE } from './local/options.ts'
import type { LocalOptions } from './local/options.ts'
import { startOauthTrial } from './local/oauth-trial.ts'
import type { OauthTrial } from './local/oauth-trial.ts'
import {
  crewVariables,
  privateOriginsOf,
  modelEnv,
  openSeeded,
  providerVariables,
  startDatabases,
} from './local/platform.ts'
import { createOwner } from './local/owner.ts'
import type { Owner } from './local/owner.ts'
import type { Databases, PrivateOrigins, SeededDatabase } from './local/platform.ts'
import { readSecrets } from './local/secrets.ts'
import type { LocalSecrets } from './local/secrets.ts'
import { ADMIN_EMAIL, bringInternalOnline, bringOnline } from './local/seed.ts'
import { collectorUrls, describeSummary, shellVariables } from './local/summary.ts'
import type { Summary } from './local/summary.ts'
import { say, sayLogLost, sendConsoleTo } from './local/terminal.ts'
import { crewToken } from './shared/crew-token.ts'
import type { EnvSource } from './shared/env.ts'
import { createLog } from './shared/log.ts'
import type { Log } from './shared/log.ts'
import { explain, stopOnSignal } from './shared/run.ts'
import type { CrewDefinition } from './platform/definitions/crew-definition.ts'
import type { Automation } from './platform/automations/automations.ts'
import { sampleCrews } from './platform/crews/sample-crews.ts'
import { start as startOauth } from './oauth/start.ts'
import { start as startWeb } from './web/start.ts'
import { start as startWorker } from './worker/start.ts'

const { version: VERSION } = manifest
const HOST = '127.0.0.1'
const API_PREFIX = 'platform'

interface Context {
  readonly owner: Owner
  readonly directory: string
  readonly portBase: number
  readonly secrets: LocalSecrets
  readonly logOf: (name: string) => Log
  /** What this machine's variables say of LLM providers and webhooks. */
  readonly providers: EnvSource
  /** The variables of a worker that runs crews. */
  readonly crews: EnvSource
  /** The private origins that LLM connections and tools may use, as variables. */
  readonly privateOrigins: PrivateOrigins
  /** Of the identity provider, when there is one. */
  readonly idpPort: number | undefined
}

async function startPlatform(
  options: LocalOptions,
  source: EnvSource,
  owner: Owner,
): Promise<Summary> {
  const { directory, portBase } = options
  await mkdir(directory, { recursive: true })
  const secrets = await readSecrets(directory)
  const { databasePassword: password } = secrets
  const server = { directory, port: portBase + 9, password, cache: userCache(source), say }
  const databases = await startDatabases(owner, server)
  // Only now the directory is known to be ours, and with it the log.
  const { destination } = await owner.own(
    Promise.resolve(openLogFile({ directory, onError: sayLogLost })),
  )
  const logOf = (name: string) =>
    createLog({ name, level: source.LOG_LEVEL ?? 'info', destination })
  sendConsoleTo(logOf('local'))
  const providers = providerVariables(source)
  const idpPort = options.withIdp ? portBase + 7 : undefined
  const modelUrl = `http://${HOST}:${portBase + 8}`
  const privateOrigins = privateOriginsOf(source, modelUrl)
  const crews = crewVariables(source, { directory, webUrl: `http://${HOST}:${portBase}`, modelUrl })
  const own = { owner, directory, portBase, secrets, logOf, crews }
  const context: Context = { ...own, providers, privateOrigins, idpPort }
  return startServices(context, databases, source).catch(async (thrown: unknown) => {
    // All that PostgreSQL says of itself is there once it has ended, not when a connection breaks.
    await owner.stop()
    throw explainFullDisk(thrown, { directory, output: databases.output() })
  })
}

async function startServices(
  context: Context,
  databases: Databases,
  source: EnvSource,
): Promise<Summary> {
  const { owner, directory, secrets, logOf, crews } = context
  const main = { url: databases.platformUrl, directory, secrets }
  const [collector, { sql, seeded }] = await Promise.all([
    startTraceCollector(context, databases.collectorUrl),
    openSeeded(owner, { ...main, modelUrl: crews.CREW_MODEL_URL, log: logOf('local') }),
  ])
  const [web, oauth] = await Promise.all([
    startWebServer(context, databases.platformUrl, collector.url),
    startOauthService(context, databases.platformUrl),
    startCrews(context, { sql, seeded, source }),
    startWorkers(context, databases.platformUrl, collector.url),
    collector.ready,
  ])
  const trial = await startTrial(context, { sql, seeded, directory, baseUrl: web.url })
  const summary = {
    web_url: web.url,
    ...collectorUrls(collector),
    oauth_url: oauth.url,
    api_prefix: API_PREFIX,
    automation_id: seeded.crews[0]?.automation.automationId ?? '',
    organization: String(seeded.organizationId),
    static_token: seeded.staticToken,
    debug_token: secrets.debugToken,
    collector_jwt_secret: secrets.collectorJwtSecret,
    admin_email: ADMIN_EMAIL,
    admin_password: secrets.adminPassword,
    database_url: databases.platformUrl,
    collector_database_url: databases.collectorUrl,
    ...trial,
  }
  const file = join(directory, 'platform.env')
  return { ...summary, env_file: await writeEnvFile(file, shellVariables(summary)) }
}

type TrialNeeds = Pick<OauthTrial, 'sql' | 'seeded' | 'directory' | 'baseUrl'>

/** With `--with-idp`, names the file that a shell sources to call the automations with OAuth. */
async function startTrial({ owner, idpPort: port }: Context, needs: TrialNeeds) {
  if (port === undefined) return {}
  const here = { owner, host: HOST, port, apiPrefix: API_PREFIX }
  return { oauth_env_file: await startOauthTrial({ ...needs, ...here }) }
}

function startTraceCollector({ owner, portBase, secrets, logOf }: Context, databaseUrl: string) {
  const env = {
    HOST,
    PORT: String(portBase + 1),
    METRICS_PORT: String(portBase + 2),
    GRPC_PORT: String(portBase + 10),
    DATABASE_URL: databaseUrl,
    COLLECTOR_JWT_SECRET: secrets.collectorJwtSecret,
  }
  const starting = owner.own(startCollector(env, { log: logOf('collector'), drainMs: 0 }))
  // Awaited later: a disk that is full before would end the process without its sentence.
  starting.then(({ ready }) => ready).catch(() => {})
  return starting
}

function startWorkers(context: Context, databaseUrl: string, collectorUrl: string) {
  const { owner, portBase, secrets, logOf, providers, crews } = context
  const env = {
    ...crews,
    HOST,
    PORT: String(portBase + 3),
    ...providers,
    ...oauthAccess(context),
    DATABASE_URL: databaseUrl,
    PLATFORM_VERSION: VERSION,
    SECRET_KEY_BASE: secrets.secretKeyBase,
    COLLECTOR_URL: collectorUrl,
    COLLECTOR_JWT_SECRET: secrets.collectorJwtSecret,
    // Whoever presses Ctrl-C does not want to wait; the next start takes the runs up again.
    WORKER_DRAIN_SECONDS: '3',
  }
  return owner.own(startWorker(env, { log: logOf('worker') }))
}

const oauthAccess = ({ portBase, secrets }: Context) => ({
  PLATFORM_OAUTH_API_BASE_URL: `http://${HOST}:${portBase + 4}`,
  PLATFORM_OAUTH_API_KEY: secrets.oauthApiKey,
})

function startOauthService(
  { owner, portBase, secrets, logOf, privateOrigins }: Context,
  databaseUrl: string,
) {
  const env = {
    ...privateOrigins,
    HOST,
    PORT: String(portBase + 4),
    DATABASE_URL: databaseUrl,
    PLATFORM_OAUTH_API_KEY: secrets.oauthApiKey,
    OAUTH_ENCRYPTION_KEY: secrets.oauthEncryptionKey,
    OAUTH_PUBLIC_URL: `http://${HOST}:${portBase + 4}`,
  }
  return owner.own(startOauth(env, { log: logOf('oauth'), lingerMs: 0 }))
}

function startWebServer(context: Context, databaseUrl: string, collectorUrl: string) {
  const { owner, portBase, secrets, logOf, providers, privateOrigins, idpPort } = context
  const env = {
    HOST,
    PORT: String(portBase),
    ...providers,
    DATABASE_URL: databaseUrl,
    PLATFORM_SELF_HOSTED: 'true',
    CREW_PROCESSES: 'true',
    // As in a cluster, so that the diagnostic report is part of what there is to try.
    PLATFORM_PROVIDER: 'kubernetes',
    PLATFORM_VERSION: VERSION,
    PLATFORM_BASE_URL: `http://${HOST}:${portBase}`,
    PLATFORM_API_PREFIX: API_PREFIX,
    PLATFORM_DEBUG_TOKEN: secrets.debugToken,
    SECRET_KEY_BASE: secrets.secretKeyBase,
    ...oauthAccess(context),
    COLLECTOR_URL: collectorUrl,
    COLLECTOR_JWT_SECRET: secrets.collectorJwtSecret,
    ...privateOrigins,
    AUTOMATION_OAUTH_PRIVATE_ORIGINS: idpPort === undefined ? '' : `http://${HOST}:${idpPort}`,
  }
  return owner.own(startWeb(env, { log: logOf('web'), lingerMs: 0 }))
}

interface Crews extends SeededDatabase {
  readonly source: EnvSource
}

/** Starts the crews, each as a pod of its own would run it. */
async function startCrews(context: Context, { sql, seeded, source }: Crews): Promise<void> {
  const { owner, portBase, logOf } = context
  const model = await modelEnv(owner, source, () =>
    startModel({ port: portBase + 8, log: logOf('model') }),
  )
  const samples = seeded.crews.map(async (crew, index) => {
    const { definition } = crew.sample
    const url = await startOne(context, model, { ...crew, definition, port: portBase + 5 + index })
    await bringOnline(sql, crew, url)
  })
  const internal = seeded.internal.map(async (crew) => {
    // Any port will do: nobody finds them but by their record.
    const url = await startOne(context, model, { ...crew, port: 0 })
    await bringInternalOnline(sql, crew, url)
  })
  await Promise.all([...samples, ...internal])
}

interface LocalCrew {
  readonly automation: Automation
  readonly definition: CrewDefinition
  readonly port: number
}

async function startOne(
  { owner, secrets, logOf, privateOrigins }: Context,
  model: EnvSource,
  { automation, definition, port }: LocalCrew,
): Promise<string> {
  const { automationId, slug, projectVersionId } = automation
  const env = {
    ...model,
    HOST,
    PORT: String(port),
    CREW_DEFINITION: JSON.stringify(definition),
    CREW_TOKEN: crewToken(secrets.secretKeyBase, automationId),
    CREW_DRAIN_SECONDS: '3',
    ...privateOrigins,
  }
  const log = logOf('crew').child({ crew: slug, project_version: projectVersionId })
  return (await owner.own(startCrew(env, { log }))).url
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (options.help) return void process.stdout.write(USAGE)
  const { json } = options
  const owner = createOwner()
  stopOnSignal({
    async stop() {
      say('Stopping …')
      await owner.stop()
      say('Stopped.')
    },
  })
  try {
    const started = performance.now()
    say(`Starting the platform on ${options.directory} …`)
    const summary = await startPlatform(options, process.env, owner)
    say(`Ready after ${((performance.now() - started) / 1000).toFixed(1)} s.`)
    const inputs = sampleCrews[0]?.inputs ?? {}
    process.stdout.write(json ? `${JSON.stringify(summary)}\n` : describeSummary(summary, inputs))
  } catch (thrown) {
    await owner.stop()
    throw explainFullDisk(thrown, options)
  }
}

void main().catch((thrown: unknown) => {
  say(explain(thrown))
  process.exit(1)
})
