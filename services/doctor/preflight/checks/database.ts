import { toError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { openDisposable } from '../../../shared/postgres/disposable-database.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import { readLacks } from '../../fixes/grants.ts'
import type { PreflightContext } from '../context.ts'
import type { DatabasePlan } from '../installation.ts'
import { describeOutage, failed, passed, skipped, warning } from '../result.ts'
import type { Result } from '../result.ts'

const MAJOR_MIN = 15
const LOOPBACK = /^(localhost|127\.|::1$)/

/** The main database takes the login, and its user may do what migrations do. */
export const checkDatabase = (context: PreflightContext): Promise<Result> =>
  check(context, context.installation.database)

/** So does the collector's, which is another one (SPEC appendix 3). */
export async function checkCollectorDatabase(context: PreflightContext): Promise<Result> {
  const { database, collectorDatabase } = context.installation
  const [main, own] = [database, collectorDatabase].map((plan) =>
    'address' in plan ? `${plan.address.host}:${plan.address.port}/${plan.address.database}` : '',
  )
  if (main !== '' && main === own) {
    return failed('db_shared', `the collector would use the main database ${main}`)
  }
  return check(context, collectorDatabase)
}

async function check({ timeoutMs }: PreflightContext, plan: DatabasePlan): Promise<Result> {
  if (!('address' in plan)) return skipped(plan.reason)
  const limits = { max: 1, connectTimeoutMs: timeoutMs, statementTimeoutMs: timeoutMs }
  const opened = openDisposable(plan.address, { name: 'doctor', ...limits })
  try {
    return await examine(opened.sql, plan.address.host)
  } catch (thrown) {
    return databaseFailure(thrown)
  } finally {
    await opened.dispose()
  }
}

async function examine(sql: Database, host: string): Promise<Result> {
  const [server] = await sql<[Server]>`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int / 10000 as major,
      current_database() as database, current_user as "user",
      coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted`
  const { version, major, database, user, encrypted } = server
  const isSafe = encrypted || LOOPBACK.test(host)
  const warnings = isSafe ? [] : [warning('db_unencrypted', 'the connection is not encrypted')]
  const details = {
    version,
    database,
    user,
    encrypted,
    ...(warnings.length > 0 ? { warnings } : {}),
  }
  if (major < MAJOR_MIN) {
    const error = `PostgreSQL ${version} is older than ${MAJOR_MIN}`
    return failed('db_too_old', error, { checks: ['login'], details })
  }
  const missing = await listMissingGrants(sql)
  if (missing.length === 0) return passed(['login', 'version', 'grants'], details)
  return failed('db_grants_missing', missing.map(({ what }) => what).join('; '), {
    checks: ['login', 'version'],
    details: { ...details, statements: missing.map(({ statement }) => statement) },
    remediation:
      `Run in the database "${database}" as its owner: ` +
      missing.map(({ statement }) => `${statement};`).join(' '),
  })
}

interface Server {
  readonly version: string
  readonly major: number
  readonly database: string
  readonly user: string
  readonly encrypted: boolean
}

const REFUSED_LOGINS = new Set(['28P01', '28000', '42501'])

function databaseFailure(thrown: unknown): Result {
  const error = toError(thrown)
  const code = 'code' in error ? String(error.code) : ''
  if (REFUSED_LOGINS.has(sqlState(thrown) ?? '')) {
    return failed('db_auth_failed', `bad credentials: ${error.message}`)
  }
  if (/CERT|SSL|TLS|SELF_SIGNED|VERIFY/i.test(`${code} ${error.message}`)) {
    return failed('db_tls_failed', `TLS: ${error.message}`)
  }
  const outage = describeOutage(thrown)
  const isLate = outage.startsWith('TimeoutError') || sqlState(thrown) === '57014'
  return failed(isLate ? 'db_timeout' : 'db_unreachable', outage)
}

const OBJECTS_MAX = 5

/** A privilege that the user lacks, and the statement that grants it. */
interface MissingGrant {
  readonly what: string
  readonly statement: string
}

/**
 * Lists the privileges that migrations and services need and the user of this connection lacks: on
 * the schema, on tables and sequences that exist already, and their ownership (SPEC appendix 5).
 */
async function listMissingGrants(sql: Database): Promise<readonly MissingGrant[]> {
  const [{ role }] = await sql<[{ role: string }]>`select current_user as role`
  const all = await readLacks(sql, { role, kinds: ['SCHEMA', 'TABLE', 'SEQUENCE'] })
  const user = all[0]?.grantee ?? role
  const foreign = all.filter(({ kind, isOwner }) => kind !== 'SCHEMA' && !isOwner)
  const onSchema = all.find(({ kind }) => kind === 'SCHEMA')?.missing.split(', ') ?? []
  const on = (kind: 'TABLE' | 'SEQUENCE', verbs: string): MissingGrant[] => {
    const lacks = foreign.filter((each) => each.kind === kind && each.missing !== '')
    if (lacks.length === 0) return []
    const names = lacks.slice(0, OBJECTS_MAX).map(({ name }) => name)
    const statement = `GRANT ALL PRIVILEGES ON ALL ${kind}S IN SCHEMA public TO ${user}`
    return [{ what: `no right to ${verbs} ${names.join(', ')}`, statement }]
  }
  return [
    ...onSchema.filter(Boolean).map((right) => ({
      what: `no ${right} on the schema public`,
      statement: `GRANT ${right} ON SCHEMA public TO ${user}`,
    })),
    ...on('TABLE', 'read and write'),
    ...on('SEQUENCE', 'use the sequences'),
    ...[...new Set(foreign.map(({ owner }) => owner))].map((owner) => ({
      what: `tables of ${owner}, which migrations cannot change`,
      statement: `GRANT ${owner} TO ${user}`,
    })),
  ]
}
