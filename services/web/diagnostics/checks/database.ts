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

/** The main database takes a login and a statement. */
export const databaseCheck: Check = {
  weight: 'critical',
  title: 'Database',
  skipped: 'Not checked',
  passes: { select_1: 'Takes statements' },
  failures: DATABASE_CODES,
  warnings: { ...SCHEMA_WARNINGS, ...CLOCK_WARNINGS },
  timeout: DATABASE_CODES.db_timeout,

  async run({ signal, sql }, { schemaVersion }) {
    try {
      await orAbort(signal, sql`select 1`)
      const doubts = signal.aborted ? [] : findDoubts(sql, schemaVersion).catch(doubtOf)
      const found = await orAbort(signal, Promise.resolve(doubts)).catch(() => [])
      const facts = { checks: ['select_1'] }
      return passed(found.length > 0 ? { ...facts, details: withWarnings({}, found) } : facts)
    } catch (thrown) {
      // Whoever may not even select a number may not enter this database.
      return sqlState(thrown) === NO_RIGHT ? loginRefused(thrown) : databaseFailure(thrown)
    }
  },
}

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
  return [...warnOfClock('database', skewMs), ...warnOfSchema(row.version, expected)]
}

function warnOfSchema(version: number | null, expected: number | undefined): readonly Warning[] {
  if (version === null) return [NO_TABLES]
  if (expected === undefined || version === expected) return []
  const message = `the schema has version ${version}, and this program has ${expected}`
  const code = version < expected ? 'schema_behind' : 'schema_ahead'
  return [warning(SCHEMA_WARNINGS[code], message)]
}
