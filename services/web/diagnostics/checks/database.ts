import { html } from 'hono/html'
import { countForks } from '../../../platform/receipts/copy-heads.ts'
import { readDatabaseSizes } from '../../../platform/database-sizes.ts'
import { growthOf } from '../../../shared/growth.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { sqlState } from '../../../shared/postgres/failures.ts'
import type { Check } from '../check.ts'
import { runInWeb } from '../cluster-commands.ts'
import { DATABASE_CODES, databaseFailure, loginRefused } from '../database-failure.ts'
import { declareCodes } from '../failure-code.ts'
import { passed, warning, withWarnings } from '../finding.ts'
import type { Warning } from '../finding.ts'
import { orAbort } from '../or-abort.ts'
import { CLOCK_WARNINGS, warnOfClock } from '../time-warnings.ts'

const NO_RIGHT = '42501'
const UNKNOWN_TABLE = '42P01'

const SCHEMA_WARNINGS = declareCodes({
  schema_empty:
    'The database is new, or its volume is lost. Restore a backup, or begin anew. ' +
    `${runInWeb('migrate')}, and \`kubectl -n {namespace} rollout restart deployment\`, which ` +
    'makes the tables of the traces as well; `helm upgrade {release} dist/chart -n {namespace} ' +
    '--reuse-values` then sets it up.',
  schema_behind: `Migrations of this version are missing. ${runInWeb('migrate')}.`,
  schema_ahead:
    'Pods of an older version run on the schema of a newer one, as during an upgrade or after a ' +
    'rollback. Complete the upgrade; `kubectl -n {namespace} rollout status deployment` says how ' +
    'it goes.',
})

const SIZE_WARNINGS = declareCodes({
  db_storage_ends_soon:
    'A full volume stops the database, and with it everything. Raise postgres.storage.size and ' +
    'the claim (of a database of your own, its volume and DB_VOLUME_SIZE), or lower ' +
    'runs.retentionDays; `doctor --from-now` prints the values.',
})
const RECEIPT_WARNINGS = declareCodes({
  receipt_heads_forked:
    'In the bucket of backups lies another head of the receipts than the one that was signed. ' +
    'After a restore that is so, and is to be noted where heads are kept; otherwise the log was ' +
    'changed. Compare the heads of both places with `receipt:verify --heads`.',
})

/** In which a larger volume is ordered. */
const SOON_DAYS = 30

interface DatabaseDetails {
  readonly size_bytes: number
  /** What a day adds; absent before there are seven days. */
  readonly growth_bytes_per_day: number
}

/** The main database takes a login and a statement. */
export const databaseCheck: Check<DatabaseDetails> = {
  weight: 'critical',
  title: 'Database',
  skipped: 'Not checked',
  passes: { select_1: 'Takes statements' },
  failures: DATABASE_CODES,
  warnings: { ...SCHEMA_WARNINGS, ...SIZE_WARNINGS, ...RECEIPT_WARNINGS, ...CLOCK_WARNINGS },
  timeout: DATABASE_CODES.db_timeout,
  page: {
    facts: ({ size_bytes: size, growth_bytes_per_day: growth = 0 }) =>
      size === undefined
        ? []
        : [html`<li>${gib(size)}${growth > 0 ? `, ${gib(growth)} more each day` : ''}</li>`],
  },

  async run({ signal, sql }, { schemaVersion, config }) {
    try {
      await orAbort(signal, sql`select 1`)
      const doubts = signal.aborted ? [] : findDoubts(sql, schemaVersion).catch(doubtOf)
      const found = await orAbort(signal, Promise.resolve(doubts)).catch(() => [])
      const sized = signal.aborted ? NO_SIZE : findSize(sql, config.DB_VOLUME_SIZE)
      const size = await orAbort(signal, Promise.resolve(sized)).catch(() => NO_SIZE)
      const details = withWarnings(size.details, [...found, ...size.warnings])
      const facts = { checks: ['select_1'] }
      return passed(Object.keys(details).length > 0 ? { ...facts, details } : facts)
    } catch (thrown) {
      // Whoever may not even select a number may not enter this database.
      return sqlState(thrown) === NO_RIGHT ? loginRefused(thrown) : databaseFailure(thrown)
    }
  },
}

interface Size {
  readonly details: Partial<DatabaseDetails>
  readonly warnings: readonly Warning[]
}

const NO_SIZE: Size = { details: {}, warnings: [] }

/** How large the database is, how fast it grew, and whether its volume is soon full. */
async function findSize(sql: Database, volume: number | undefined): Promise<Size> {
  const { bytes, otherBytes, days } = await readDatabaseSizes(sql)
  const growth = growthOf(days)
  const slope = Math.round(growth?.slope ?? 0)
  return {
    details: { size_bytes: bytes, ...(growth && { growth_bytes_per_day: slope }) },
    warnings: volume === undefined ? [] : warnOfSize({ bytes, otherBytes, slope, volume }),
  }
}

interface Filling {
  readonly bytes: number
  readonly otherBytes: number
  readonly slope: number
  readonly volume: number
}

function warnOfSize({ bytes, otherBytes, slope, volume }: Filling): readonly Warning[] {
  const left = volume - otherBytes - bytes
  if (left > Math.max(0, slope) * SOON_DAYS) return []
  const days = left <= 0 ? 0 : Math.floor(left / slope)
  const day = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
  const when = left <= 0 ? 'leaves no room' : `grows by ${gib(slope)} a day, and is full on ${day}`
  const message =
    `the database has ${gib(bytes)} on a volume of ${gib(volume)}, beside ${gib(otherBytes)} of ` +
    `other databases and the log, and ${when}`
  return [warning(SIZE_WARNINGS.db_storage_ends_soon, message)]
}

const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`

/** A database without a table yet; what else keeps doubts from being read is none. */
const doubtOf = (thrown: unknown): readonly Warning[] =>
  sqlState(thrown) === UNKNOWN_TABLE ? [NO_TABLES] : []

const NO_TABLES = warning(
  SCHEMA_WARNINGS.schema_empty,
  'the database answers, and has no tables of the platform',
)

/** Reasons why all may not be well with a database that answers; none where they cannot be read. */
async function findDoubts(
  sql: Database,
  expected: number | undefined,
): Promise<readonly Warning[]> {
  const sent = Date.now()
  const [row] = await sql<[{ ms: number; version: number | null }]>`
    select extract(epoch from clock_timestamp())::float8 * 1000 as ms,
      (select max(version) from schema_migrations) as version`
  const skewMs = row.ms - (sent + Date.now()) / 2
  // An older schema has no place for them.
  const forks = await countForks(sql).catch(() => 0)
  return [
    ...warnOfClock('database', skewMs),
    ...warnOfSchema(row.version, expected),
    ...(forks > 0 ? [warning(RECEIPT_WARNINGS.receipt_heads_forked, `${forks} heads differ`)] : []),
  ]
}

function warnOfSchema(version: number | null, expected: number | undefined): readonly Warning[] {
  if (version === null) return [NO_TABLES]
  if (expected === undefined || version === expected) return []
  const message = `the schema has version ${version}, and this program has ${expected}`
  const code = version < expected ? 'schema_behind' : 'schema_ahead'
  return [warning(SCHEMA_WARNINGS[code], message)]
}
