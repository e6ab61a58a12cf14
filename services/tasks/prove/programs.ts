import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import * as v from 'valibot'
import { listOrganizations } from '../../platform/people/organizations.ts'
import { signCollectorToken } from '../../shared/collector-token.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import type { DatabaseAddress } from '../../shared/postgres/address.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { readMigrations } from '../../shared/postgres/migration-files.ts'
import { schemaDigest } from '../../shared/postgres/upgrade-proof.ts'
import type { DatabaseName } from '../backup/archive.ts'

/** The programs of a release, and the migrated copy that they are tried on. */
interface Trial {
  /** Has `tasks/main.js` and the others, as the images have them. */
  readonly directory: string
  readonly database: DatabaseName
  readonly copy: DatabaseAddress
  readonly sql: Database
  /** Further certificate authorities, in PEM. */
  readonly caFile: string | undefined
}

/** Returns true when a directory has the programs of a database. */
export const hasPrograms = (directory: string, database: DatabaseName): Promise<boolean> =>
  access(join(directory, database === 'main' ? 'tasks' : 'collector', 'main.js')).then(
    () => true,
    () => false,
  )

/** What they did. */
export interface ProgramTrial {
  /** Their schema, as `schemaDigest` has it. */
  readonly schema: string
  /** What was tried, such as `GET /health`. */
  readonly tried: readonly string[]
  /** What of it they do not do on the new schema. */
  readonly problems: readonly string[]
}

/** The largest organizations, whose rows are read. */
const ORGANIZATIONS = 3
const START_MS = 60_000
const CALL_MS = 20_000
/** Opens nothing that the installation sealed; what is read here is not sealed. */
const SECRET = randomBytes(32).toString('hex')

/**
 * Tries the programs of a release on a migrated copy: they have to accept its schema, to start, and
 * to answer every list of their API, and the first row of each. They perform no runs and send
 * nothing. Raises
 * `schema_mismatch` and errors of files where the directory has no such programs.
 */
export async function tryPrograms(trial: Trial): Promise<ProgramTrial> {
  const { directory, database } = trial
  const service = database === 'main' ? 'platform' : 'collector'
  const folder = pathToFileURL(join(directory, service, 'migrations/'))
  const schema = schemaDigest(await readMigrations(folder))
  const [tried, problems]: [string[], string[]] = [[], []]
  const attempt = async (
    what: string,
    how: () => Promise<string | undefined>,
  ): Promise<boolean> => {
    tried.push(`${database}: ${what}`)
    const problem = await how().catch((thrown: unknown) => toError(thrown).message)
    if (problem !== undefined) problems.push(`${what} ${problem}`)
    return problem === undefined
  }
  const isAccepted = await attempt('migrate', () => migrateWith(trial))
  if (isAccepted) await withServer(trial, (url) => readAll(trial, url, attempt), attempt)
  return { schema, tried, problems }
}

type Attempt = (what: string, how: () => Promise<string | undefined>) => Promise<boolean>

async function migrateWith(trial: Trial): Promise<string | undefined> {
  const program = trial.database === 'main' ? 'tasks' : 'collector'
  const { code, stderr } = await runToEnd(trial, program, ['migrate'])
  // It says which schema it needs, and nothing of rows.
  return code === 0 ? undefined : `ended with ${code}: ${stderr.trim().slice(-500)}`
}

async function withServer(
  trial: Trial,
  use: (url: string) => Promise<void>,
  attempt: Attempt,
): Promise<void> {
  const port = await findPort()
  const url = `http://127.0.0.1:${port}`
  const program = trial.database === 'main' ? 'web' : 'collector'
  const child = start(trial, program, {
    args: [],
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      METRICS_PORT: '0',
      PLATFORM_VERSION: '0.0.0',
      PLATFORM_BASE_URL: 'http://127.0.0.1',
      SECRET_KEY_BASE: SECRET,
      COLLECTOR_JWT_SECRET: SECRET,
    },
  })
  // Unread, its output would stop it once the pipe is full.
  child.stdout.resume()
  child.stderr.resume()
  try {
    const isUp = await attempt('GET /health', () => untilHealthy(child, url))
    if (isUp) await use(url)
  } finally {
    await end(child)
  }
}

/** Reads each list, and the first of its rows where that has an address of its own. */
async function readAll(trial: Trial, url: string, attempt: Attempt): Promise<void> {
  for (const { paths, token, hasOne } of await listReads(trial, url)) {
    for (const path of paths) {
      let first: string | undefined
      await attempt(`GET ${path}`, async () => {
        const { status, body } = await call(`${url}${path}`, token)
        first = idOfFirst(body)
        return failureOf(status)
      })
      if (first === undefined || !hasOne(path)) continue
      const one = `${url}${path}/${encodeURIComponent(first)}`
      await attempt(`GET ${path}/{id}`, async () => failureOf((await call(one, token)).status))
    }
  }
}

const failureOf = (status: number): string | undefined =>
  status === 500 ? 'answered 500' : undefined

/** Returns the id of the first row of a list: `id`, or the first one such as `automation_id`. */
function idOfFirst(body: string): string | undefined {
  const list = v.safeParse(lists, body)
  const [first] = list.success ? (Object.values(list.output).find(Array.isArray) ?? []) : []
  const row = Object.entries(isObject(first) ? first : {})
  const [, id] = row.find(([name]) => /(^|_)id$/.test(name)) ?? []
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}

const lists = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown()))

interface Reads {
  readonly paths: readonly string[]
  /** Whether what a list has can be read one by one. */
  readonly hasOne: (path: string) => boolean
  readonly token: string
}

/** What can be read of each of the largest organizations. */
async function listReads(trial: Trial, url: string): Promise<Reads[]> {
  if (trial.database === 'collector') {
    const scopes = ['traces:read'] as const
    const token = await signCollectorToken(SECRET, 'prove', { scopes })
    return [{ paths: ['/api/traces'], hasOne: () => true, token }]
  }
  const answer = await call(`${url}/openapi.json`)
  const { paths } = v.parse(description, JSON.parse(answer.body))
  const reads = Object.keys(paths).filter((path) => paths[path]?.get)
  const listed = reads.filter((path) => !path.includes('{'))
  const hasOne = (list: string): boolean =>
    reads.some((path) => path.startsWith(`${list}/{`) && path.endsWith('}'))
  const { items } = await listOrganizations(trial.sql, { limit: 100 })
  const largest = items.toSorted((a, b) => b.automations - a.automations).slice(0, ORGANIZATIONS)
  const all: Reads[] = []
  for (const { name } of largest) {
    const { code, stdout } = await runToEnd(trial, 'tasks', ['tokens:create', name, 'rehearsal'])
    if (code === 0) all.push({ paths: listed, hasOne, token: stdout.trim() })
  }
  return all
}

const description = v.looseObject({
  paths: v.record(v.string(), v.looseObject({ get: v.optional(v.unknown()) })),
})

const call = (url: string, token?: string): Promise<{ status: number; body: string }> =>
  deadline({ name: 'a program on the copy', timeoutMs: CALL_MS }, async (signal) => {
    const headers = new Headers(token === undefined ? {} : { authorization: `Bearer ${token}` })
    const response = await fetch(url, { headers, signal })
    return { status: response.status, body: await response.text() }
  })

async function untilHealthy(child: ChildProcess, url: string): Promise<string | undefined> {
  const giveUpAt = Date.now() + START_MS
  while (Date.now() < giveUpAt && child.exitCode === null) {
    const answer = await call(`${url}/health`).catch(() => undefined)
    if (answer?.status === 200) return undefined
    await delay(100)
  }
  return child.exitCode === null ? 'was not 200 in time' : `: it ended with ${child.exitCode}`
}

interface Call {
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a program with the copy for its database, and with nothing else to talk to. */
function start({ directory, copy, caFile }: Trial, program: string, { args, env }: Call) {
  return spawn(process.execPath, [join(directory, program, 'main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      DB_HOST: copy.host,
      DB_PORT: String(copy.port),
      DB_NAME: copy.database,
      DB_USER: copy.user,
      DB_PASSWORD: copy.password,
      DB_SSLMODE: copy.sslMode,
      LOG_LEVEL: 'error',
      ...(caFile !== undefined && { NODE_EXTRA_CA_CERTS: caFile }),
      ...env,
    },
  })
}

async function runToEnd(trial: Trial, program: string, args: readonly string[]) {
  const child = start(trial, program, { args })
  const over = setTimeout(() => child.kill('SIGKILL'), START_MS)
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  clearTimeout(over)
  return { code: child.exitCode, stdout, stderr }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}
