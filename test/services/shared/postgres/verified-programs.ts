/**
 * Lets each program of the platform use a PostgreSQL with verify-full, and then be refused: under a
 * name that is not in the certificate, and with a certificate of another authority. Writes what
 * became of each as JSON.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { runMigration } from '../../../../services/collector/schema.ts'
import { start as startCollector } from '../../../../services/collector/start.ts'
import { runDoctor } from '../../../../services/doctor/doctor.ts'
import { start as startOauth } from '../../../../services/oauth/start.ts'
import { signCollectorToken } from '../../../../services/shared/collector-token.ts'
import type { EnvSource } from '../../../../services/shared/env.ts'
import { readEnv } from '../../../../services/shared/env.ts'
import { toError } from '../../../../services/shared/errors.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { bootstrapEnv } from '../../../../services/tasks/env.ts'
import { refuseLostKeys } from '../../../../services/tasks/lost-keys.ts'
import { runTask } from '../../../../services/tasks/start.ts'
import { start as startWeb } from '../../../../services/web/start.ts'
import { start as startWorker } from '../../../../services/worker/start.ts'
import { surroundings } from '../../doctor/support/surroundings.ts'

const [port = '', password = '', directory = '', plainUrl = ''] = process.argv.slice(2)
const KEY = 'k'.repeat(40)
const POLLS_MAX = 200

const login = (host: string) => ({
  DB_HOST: host,
  DB_PORT: port,
  DB_USER: 'postgres',
  DB_PASSWORD: password,
  DB_SSLMODE: 'verify-full',
  LOG_LEVEL: 'silent',
  DATABASE_WAIT_SECONDS: '0',
})
const urlOf = (host: string, name: string): string =>
  `postgres://postgres:${password}@${host}:${port}/${name}?sslmode=verify-full`
const mainEnv = (host: string) => ({ ...login(host), DB_NAME: 'platform' })
const listening = { PORT: '0', HOST: '127.0.0.1', METRICS_PORT: '0' }
const webEnv = {
  ...listening,
  PLATFORM_VERSION: '0.0.0',
  PLATFORM_BASE_URL: 'http://127.0.0.1:3000',
  SECRET_KEY_BASE: KEY,
}
const workerEnv = {
  ...listening,
  PLATFORM_VERSION: '0.0.0',
  SECRET_KEY_BASE: KEY,
  WORKER_DRAIN_SECONDS: '0',
}
const collectorEnv = (host: string) => ({
  ...login(host),
  ...listening,
  DB_NAME: 'collector',
  COLLECTOR_JWT_SECRET: KEY,
  COLLECTOR_CREATE_DATABASE: 'true',
})
const oauthEnv = {
  ...listening,
  PLATFORM_OAUTH_API_KEY: KEY,
  OAUTH_ENCRYPTION_KEY: KEY,
  OAUTH_PUBLIC_URL: 'http://127.0.0.1:3002',
}

interface Started {
  readonly url: string
  stop(): Promise<unknown>
}

/** Asks again where a service is expected to come up: on a busy machine it may take a while. */
async function healthOf({ url }: Started, isExpected: boolean): Promise<number> {
  for (let polls = 0; ; polls++) {
    const { status } = await fetch(`${url}/health`)
    if (status === 200 || !isExpected || polls === POLLS_MAX) return status
    await delay(100)
  }
}

/** Starts a service, and stops it again with what it answered. */
async function ask<Service extends Started, Answer>(
  starting: Promise<Service>,
  question: (service: Service) => Promise<Answer>,
): Promise<Answer> {
  const service = await starting
  try {
    return await question(service)
  } finally {
    await service.stop()
  }
}

/** The collector looks at its database in the background. */
async function healthOfCollector(service: Started): Promise<number> {
  const { database } = (await (await fetch(`${service.url}/health`)).json()) as Record<
    string,
    unknown
  >
  return database === 'up' ? 200 : 503
}

const SPAN = {
  traceId: randomBytes(16).toString('hex'),
  spanId: randomBytes(8).toString('hex'),
  name: 'a span',
  startTimeUnixNano: `${Date.now()}000000`,
  endTimeUnixNano: `${Date.now()}000000`,
}

/** Its 200 means that COPY has committed, over a connection that is not the driver's. */
async function storeSpan({ url }: Started): Promise<number> {
  const token = await signCollectorToken(KEY, 'test', { scopes: ['traces:write'] })
  const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [SPAN] }] }] })
  for (let polls = 0; polls < POLLS_MAX; polls++) {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const { status } = await fetch(`${url}/v1/traces`, { method: 'POST', headers, body })
    if (status !== 503) return status
    await delay(100)
  }
  return 503
}

async function lookForKeys(host: string): Promise<string> {
  const lines: string[] = []
  const log = createLog({ name: 'x', destination: { write: (line) => void lines.push(line) } })
  const names = { POD_NAMESPACE: 'p', PLATFORM_SECRET: 's', PLATFORM_SECRET_KEPT: 'k' }
  const given = { ...mainEnv(host), ...names, PLATFORM_SECRET_KEYS: 'SECRET_KEY_BASE' }
  const nothing = async () => ({ failure: { status: 404, reason: 'NotFound', message: '' } })
  const made = { made: ['SECRET_KEY_BASE'], password, log }
  await refuseLostKeys(nothing, readEnv(bootstrapEnv, given), made)
  return lines.join('')
}

async function preflight(host: string): Promise<string> {
  const env = {
    DATABASE_URL: urlOf(host, 'platform'),
    COLLECTOR_DATABASE_URL: urlOf(host, 'collector'),
    HOME: directory,
  }
  const args = ['--pre', '--only', 'database,collector_database', '--json']
  const { stdout } = await runDoctor(args, env, surroundings())
  return stdout
}

const backupEnv = (host: string): EnvSource => ({
  ...mainEnv(host),
  COLLECTOR_DATABASE_URL: urlOf(host, 'collector'),
  BACKUP_PASSPHRASE: KEY,
  BACKUP_DIRECTORY: directory,
  BACKUP_VERIFY: 'read',
})

/** Returns what a program of its own writes about its failure. */
async function spoken(run: () => Promise<void>): Promise<string> {
  const { stderr } = process
  const write = stderr.write.bind(stderr)
  const said: string[] = []
  stderr.write = (text) => said.push(String(text)) > 0
  await run().finally(() => (stderr.write = write))
  process.exitCode = 0
  return said.join('')
}

const programs: Readonly<Record<string, (host: string, isExpected: boolean) => Promise<unknown>>> =
  {
    migrate: (host) => runTask(['migrate'], mainEnv(host)),
    'collector migrate': async (host) => spoken(() => runMigration(collectorEnv(host))),
    setup: (host) => runTask(['setup'], mainEnv(host)),
    'crew tasks': (host) =>
      runTask(['designer:runner:install', 'http://127.0.0.1:9'], {
        ...mainEnv(host),
        SECRET_KEY_BASE: KEY,
      }),
    bootstrap: lookForKeys,
    backup: (host) => runTask(['backup:create'], backupEnv(host)),
    doctor: preflight,
    web: (host, isExpected) =>
      ask(startWeb({ ...mainEnv(host), ...webEnv }, { lingerMs: 0 }), (service) =>
        healthOf(service, isExpected),
      ),
    worker: (host, isExpected) =>
      ask(startWorker({ ...mainEnv(host), ...workerEnv }), (service) =>
        healthOf(service, isExpected),
      ),
    oauth: (host, isExpected) =>
      ask(startOauth({ ...mainEnv(host), ...oauthEnv }, { lingerMs: 0 }), (service) =>
        healthOf(service, isExpected),
      ),
  }

async function tryAll(host: string, isExpected: boolean): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {}
  for (const [name, run] of Object.entries(programs)) {
    const t0 = Date.now()
    setTimeout(() => {}, 0)
    results[name] = await run(host, isExpected).catch((thrown: unknown) => toError(thrown).message)
    process.stderr.write(
      `${host} ${name} ${Date.now() - t0} ${String(results[name]).slice(0, 300)}\n`,
    )
  }
  return results
}

/** New connections meet a certificate of another authority from here on. */
async function changeCertificate(): Promise<void> {
  const shown = async (): Promise<unknown> => {
    const sql = postgres(plainUrl, { max: 1, onnotice: () => {} })
    const [row] = await sql`show ssl_cert_file`
    await sql.end()
    return row?.['ssl_cert_file']
  }
  const sql = postgres(plainUrl, { max: 1, onnotice: () => {} })
  await sql`alter system set ssl_cert_file = 'other.crt'`
  await sql`alter system set ssl_key_file = 'other.key'`
  await sql`select pg_reload_conf()`
  await sql.end()
  for (let polls = 0; polls < POLLS_MAX && (await shown()) !== 'other.crt'; polls++) await delay(50)
}

process.stderr.write('begin\n')
const verified = {
  ...(await tryAll('localhost', true)),
  collector: await ask(startCollector(collectorEnv('localhost')), storeSpan),
}
const otherName = {
  ...(await tryAll('127.0.0.1', false)),
  collector: await ask(startCollector(collectorEnv('127.0.0.1')), healthOfCollector),
}
await changeCertificate()
const otherAuthority = {
  ...(await tryAll('localhost', false)),
  collector: await ask(startCollector(collectorEnv('localhost')), healthOfCollector),
}
process.stdout.write(`\n${JSON.stringify({ verified, otherName, otherAuthority })}\n`)
