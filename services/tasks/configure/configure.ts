import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { OPERATOR, writeAudit } from '../../platform/audit/audit.ts'
import { revokeShortTokens } from '../../platform/automations/static-tokens.ts'
import { ensureDefaultOrganization } from '../../platform/people/organizations.ts'
import type { EnvSource } from '../../shared/env.ts'
import type { Log } from '../../shared/log.ts'
import type { Database, Transaction } from '../../shared/postgres/database.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'
import { issueRecorded } from '../create-token.ts'
import type { ConfigurationConfig } from '../env.ts'
import { applyFiles } from '../resources/apply-files.ts'
import type { Output } from '../resources/apply-files.ts'
import { readApplyRequest } from '../resources/options.ts'

/** What manages the resources: their pages say so. */
const MANAGER = 'configuration'
const TOKEN_NAME = 'Configuration of the installation'
/** Enough for 10,000 documents; what a crash leaves behind ends by then. */
const TOKEN_MINUTES = 15
/** Clocks of the database and of this machine may differ by the rest. */
const SHORT_MINUTES = 60
/** Documents name variables without it, and no others: the password of the database is beside. */
const SECRET_PREFIX = 'CONFIGURATION_SECRET_'

interface Configuration {
  readonly env: ConfigurationConfig
  /** Files, directories and options of `apply`. */
  readonly args: readonly string[]
  readonly source: EnvSource
  readonly output: Output
  readonly log: Log
}

/**
 * Gives the first organization what files say, with a token that is for this alone, and returns the
 * exit code of `apply`. A token that a former run left behind ends before, and with it that run.
 */
export async function configure(
  sql: Database,
  { env, args, source, output, log }: Configuration,
): Promise<number> {
  const { PLATFORM_URL: url, PLATFORM_VERSION: version } = env
  await waitForWeb({ url, version, timeoutMs: env.WEB_WAIT_SECONDS * 1000 }, log)
  const { id: organizationId, name: organization } = await ensureDefaultOrganization(sql)
  const token = await sql.begin(async (tx) => {
    await endTokens(tx, organizationId)
    const expiresAt = new Date(Date.now() + TOKEN_MINUTES * 60_000)
    const limits = { scopes: ['settings'], expiresAt, networks: [] } as const
    return issueRecorded(tx, { ...limits, organizationId, name: TOKEN_NAME })
  })
  try {
    const address = { PLATFORM_URL: url, PLATFORM_API_TOKEN: token }
    const request = readApplyRequest([...args, '--managed-by', MANAGER], address)
    if (!request) return 0
    log.info({ organization, paths: request.paths }, 'applying the configuration')
    const secrets = { variables: secretsIn(source), hasFiles: false }
    return await applyFiles({ ...request, secrets }, output)
  } finally {
    await sql.begin((tx) => endTokens(tx, organizationId))
  }
}

async function endTokens(tx: Transaction, organizationId: number): Promise<void> {
  const ended = await revokeShortTokens(tx, { organizationId, name: TOKEN_NAME }, SHORT_MINUTES)
  for (const id of ended) {
    const target = { kind: 'static_token', id, name: TOKEN_NAME }
    await writeAudit(tx, OPERATOR, { action: 'static_token_deleted', organizationId, target })
  }
}

const secretsIn = (source: EnvSource): EnvSource =>
  Object.fromEntries(
    Object.entries(source).flatMap(([name, value]) =>
      name.startsWith(SECRET_PREFIX) ? [[name.slice(SECRET_PREFIX.length), value]] : [],
    ),
  )

const RETRY_MS = 1000
const CALL_MS = 5000
const ANSWER_BYTES_MAX = 16 << 20
/** The same reason is logged again after so long. */
const REPEAT_MS = 30_000

const document = v.object({ info: v.object({ version: v.string() }) })

/** The platform that is waited for. */
interface AwaitedWeb {
  readonly url: string
  /** undefined: any. */
  readonly version: string | undefined
  readonly timeoutMs: number
}

/**
 * Waits until web answers, of the version that is asked for: pods of the former one may still
 * answer. Logs why it does not, and raises `unavailable` after `timeoutMs`.
 */
async function waitForWeb(web: AwaitedWeb, log: Log): Promise<void> {
  const giveUpAt = Date.now() + web.timeoutMs
  let told = { why: '', at: 0 }
  for (;;) {
    const why = await ask(web)
    if (why === undefined) return
    if (Date.now() >= giveUpAt) throw new AppError('unavailable', why)
    if (why !== told.why || Date.now() - told.at >= REPEAT_MS) {
      const seconds = Math.ceil((giveUpAt - Date.now()) / 1000)
      log.warn(`${why} Trying again for up to ${seconds} s.`)
      told = { why, at: Date.now() }
    }
    await sleep(RETRY_MS)
  }
}

/** Returns why web is not as it should be; undefined: it is. */
async function ask({ url, version }: AwaitedWeb): Promise<string | undefined> {
  try {
    const name = `GET ${url}/openapi.json`
    const text = await deadline({ name, timeoutMs: CALL_MS }, async (signal) => {
      const response = await fetch(`${url}/openapi.json`, { redirect: 'manual', signal })
      return readBounded(response, ANSWER_BYTES_MAX)
    })
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), document), text)
    if (!parsed.success) return `${url} does not answer as a platform.`
    const { version: found } = parsed.output.info
    if (version === undefined || found === version) return undefined
    return `${url} has the version ${found}, not ${version}.`
  } catch (thrown) {
    const { message, cause } = toError(thrown)
    return `${url} does not answer: ${cause === undefined ? message : toError(cause).message}.`
  }
}
