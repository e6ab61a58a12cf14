import { SignJWT } from 'jose'
import { inject } from 'vitest'
import type { Clock } from '../../../../services/collector/store/clock.ts'
import { start } from '../../../../services/collector/start.ts'
import type { Collector, StartOptions } from '../../../../services/collector/start.ts'
import { signCollectorToken } from '../../../../services/shared/collector-token.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { citusUrl, cloneCitusDatabase } from '../../../support/citus.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

export const SECRET = 'a-collector-secret-of-more-than-32-characters'
export const PROTOBUF = 'application/x-protobuf'
export const JSON_TYPE = 'application/json'

export const silent = createLog({ name: 'test', level: 'silent' })

/** A clock for PostgreSQL that a test sets; the pod's agrees with it. */
export const clockAt = (now: () => number): Clock => ({
  now,
  skewMs: () => 0,
  isSkewed: () => false,
  ask: async () => {},
})

export interface Harness {
  readonly collector: Collector
  readonly sql: Database
  readonly databaseUrl: string
  /** Posts a protobuf body with a fresh token; headers given replace the usual ones. */
  post(body: Buffer | string, headers?: Record<string, string>): Promise<Response>
  /** The sum of a metric over the labels that are not given. */
  metric(name: string, labels?: Record<string, string>): Promise<number>
  /** Resolves when the roll-ups have all that was committed before. */
  rolledUp(): Promise<void>
  /** Resolves when the texts of all that was rolled up before can be found. */
  extracted(): Promise<void>
  /** Starts another collector on the same database. */
  another(env?: Record<string, string>, options?: StartOptions): Promise<Collector>
  stop(): Promise<void>
}

export const environment = (databaseUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  PORT: '0',
  METRICS_PORT: '0',
  HOST: '127.0.0.1',
  RETENTION_WEEKS: '1',
  COLLECTOR_JWT_SECRET: SECRET,
})

/** How much longer a short time has to be on Citus. */
export const slowness = citusUrl === undefined ? 1 : 10

const patience = { timeoutMs: 20_000 * slowness }
const distribution = citusUrl === undefined ? {} : { COLLECTOR_DISTRIBUTE: 'true' }

/** A migrated database; on all nodes of Citus when there is one to test with. */
const createTraceDatabase = (): Promise<TestDatabase> =>
  citusUrl === undefined
    ? createDatabase('collector')
    : cloneCitusDatabase(citusUrl, inject('citusTemplateUrl'))

/** A running collector on a database of its own. */
export async function createHarness(
  env: Record<string, string> = {},
  options: StartOptions = {},
): Promise<Harness> {
  const database = await createTraceDatabase()
  const started: Collector[] = []
  const another = async (more = env, moreOptions = options): Promise<Collector> => {
    const collector = await start(
      { ...environment(database.url), ...distribution, ...more },
      { log: silent, drainMs: 0, ...moreOptions },
    )
    started.push(collector)
    await collector.ready
    return collector
  }
  const collector = await another()
  const sql = connectDatabase(parseAddress(database.url), { name: 'test', max: 2 })
  return {
    collector,
    sql,
    databaseUrl: database.url,
    post: (body, headers) => postTo(collector.url, body, headers),
    metric: (name, labels) => readMetric(collector.metricsUrl, name, labels),
    rolledUp: () =>
      until(async () => {
        const rows = await sql`
          select from touched_traces union all select from days_to_roll_up where due_at <= now()`
        return rows.length === 0
      }, patience),
    extracted: () =>
      until(async () => (await sql`select from traces_to_extract`).length === 0, patience),
    another,
    async stop() {
      await Promise.all(started.map((one) => one.stop()))
      await sql.end()
      await database.drop()
    },
  }
}

/** Lets every write to `spans` wait until what it answers is called. */
export async function lockSpans(databaseUrl: string): Promise<() => Promise<void>> {
  const sql = connectDatabase(parseAddress(databaseUrl), { name: 'test-lock', max: 1 })
  await sql`begin`
  await sql`lock table spans in access exclusive mode`
  return async () => {
    await sql`rollback`
    await sql.end()
  }
}

export async function postTo(
  url: string,
  body: Buffer | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/v1/traces`, {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { 'content-type': PROTOBUF, authorization: await bearer(), ...headers },
  })
}

export const bearer = async (): Promise<string> =>
  `Bearer ${await signCollectorToken(SECRET, 'test')}`

/** As `bearer`, at a time that is not now. */
export async function bearerAt(ms: number): Promise<string> {
  const token = new SignJWT({ exp: Math.floor(ms / 1000) + 300 })
  const header = token.setProtectedHeader({ alg: 'HS256' }).setAudience('collector')
  return `Bearer ${await header.sign(Buffer.from(SECRET))}`
}

export async function readMetric(
  metricsUrl: string,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  return sumOf(await scrape(metricsUrl), name, labels)
}

const scrape = async (metricsUrl: string): Promise<string> =>
  (await fetch(`${metricsUrl}/metrics`)).text()

/** Spans received that are neither committed, duplicate, rejected nor queued; 0 at every moment. */
export async function readImbalance(metricsUrl: string): Promise<number> {
  const exposition = await scrape(metricsUrl)
  const of = (name: string): number => sumOf(exposition, `collector_${name}`)
  const accounted = ['spans_committed_total', 'spans_duplicate_total', 'spans_rejected_total']
  return [...accounted, 'queue_rows'].reduce(
    (rest, name) => rest - of(name),
    of('spans_received_total'),
  )
}

function sumOf(exposition: string, name: string, labels: Record<string, string> = {}): number {
  let sum = 0
  for (const line of exposition.split('\n')) {
    const [, found, labelText = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    const matches = Object.entries(labels).every(([key, wanted]) =>
      labelText.includes(`${key}="${wanted}"`),
    )
    if (found === name && matches) sum += Number(value)
  }
  return sum
}
