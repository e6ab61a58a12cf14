import postgres from 'postgres'
import { AppError } from '../../shared/errors.ts'
import { isDatabaseUnavailable } from '../../shared/postgres/failures.ts'

const DISK_FULL = '53100'
const CANCELLED = '57014'

interface Failed {
  readonly statements: string
  /** The time was up. */
  readonly isOver: boolean
}

/**
 * Says why a migration failed on the data, without the values of rows. Raises what says nothing
 * about the migration: a lost connection, a full disk, an error of this program.
 */
export function explainFailure(thrown: unknown, { statements, isOver }: Failed): string {
  if (!(thrown instanceof postgres.PostgresError) || isDatabaseUnavailable(thrown)) throw thrown
  if (thrown.code === DISK_FULL) {
    throw new AppError(
      'unavailable',
      'The server of the database has no room left; the copy is dropped. Give its volume more.',
    )
  }
  if (thrown.code === CANCELLED && isOver) return 'it was ended: the time was up'
  const { table_name, column_name, constraint_name, schema_name } = thrown
  const names = [table_name, column_name, constraint_name, schema_name]
  const known = new Set([...statements.split(/\W+/), ...names])
  return `${redact(thrown, known)} (SQLSTATE ${thrown.code})`
}

/** `raise exception`: any word of it may be a value. */
const RAISED = 'P0001'

/**
 * Replaces what may be the value of a row: quotations that are neither names that the server told
 * nor words of the statements, and numbers and addresses that are not in these. The detail, which
 * names rows, is not read at all.
 */
function redact(
  { message, code }: postgres.PostgresError,
  known: ReadonlySet<string | undefined>,
): string {
  const isValue = (word: string): boolean => code === RAISED || /[\d@]/.test(word)
  return message
    .replace(/"((?:[^"]|"")*)"/g, (whole, text: string) => (known.has(text) ? whole : '"…"'))
    .replace(/[^\s"…]+/g, (word) => {
      const bare = word.replace(/^\W+|\W+$/g, '')
      return bare === '' || known.has(bare) || !isValue(word) ? word : '…'
    })
}
