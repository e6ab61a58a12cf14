import type * as v from 'valibot'
import { databaseAddress } from '../../shared/postgres/address.ts'
import { connectDatabase } from '../../shared/postgres/database.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { readEnv } from '../../shared/env.ts'
import type { EnvSource } from '../../shared/env.ts'
import { AppError } from '../../shared/errors.ts'
import { archiveJobEnv } from '../env.ts'
import { createLog } from '../../shared/log.ts'
import type { ObjectStore } from '../../shared/object-store/object-store.ts'
import { archiveDays, verifyArchived } from '../store/archive/archive-day.ts'
import { listFiles } from '../store/archive/archive-files.ts'
import { openArchiveStore } from '../store/archive/archive-store.ts'
import type { Command } from './command.ts'
import { readArguments } from './options.ts'

const USAGE = `Usage: npm run --silent collector -- archive [options]
       node build/collector/main.js archive [options]

Moves each day that is older than COLLECTOR_HOT_DAYS into Parquet files of the object store: writes
them, reads them back and compares them trace by trace with the database, and only then empties the
day there. A day that was cut off is begun anew or finished. Ends with 1 when a day could not be
archived; it is still in the database then. It needs the database and the COLLECTOR_ARCHIVE_…
variables of the collector's environment.

  --help              print this
`

const VERIFY_USAGE = `Usage: npm run --silent collector -- archive:verify DAY
       node build/collector/main.js archive:verify DAY

Reads all files of a day, such as 2026-11-21, and compares them with the hashes and numbers of spans
of what was written, and, while the day is still in the database, with it, trace by trace.

  --help              print this
`

/** A day of spans is read in one statement. */
const STATEMENT_MS = 6 * 3_600_000

interface Opened {
  readonly env: v.InferOutput<typeof archiveJobEnv>
  readonly sql: Database
  readonly store: ObjectStore
}

async function withArchive<Result>(
  source: EnvSource,
  use: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const env = readEnv(archiveJobEnv, source)
  const store = openArchiveStore(env)
  if (!store)
    throw new AppError(
      'invalid_configuration',
      'There is no place for archived days: set COLLECTOR_ARCHIVE_DIRECTORY or ' +
        'COLLECTOR_ARCHIVE_S3_….',
    )
  const limits = { max: 2, statementTimeoutMs: STATEMENT_MS }
  const sql = connectDatabase(databaseAddress(env), { name: 'collector-archive', ...limits })
  try {
    return await use({ env, sql, store })
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** `main.js archive`: ends when all days that are due were tried. */
export const archiveCommand: Command = async (args, source, output) => {
  if (readArguments(args, {}, USAGE).help) return output.out(USAGE)
  return withArchive(source, async ({ env, sql, store }) => {
    const log = createLog({ name: 'collector-archive', level: env.LOG_LEVEL })
    const { archived, failed } = await archiveDays({
      sql,
      store,
      address: databaseAddress(env),
      log,
    })
    output.out(`${archived} days are archived; ${failed} could not be.\n`)
    return failed > 0 ? 1 : 0
  })
}

/** `main.js archive:verify DAY`: the exit code is 1 when something differs. */
export const verifyArchiveCommand: Command = async (args, source, output) => {
  const [day = '--help'] = args
  if (day === '--help') return output.out(VERIFY_USAGE)
  if (!/^\d{4}-\d\d-\d\d$/.test(day))
    throw new AppError('invalid_request', `${JSON.stringify(day)} is not a day.\n\n${VERIFY_USAGE}`)
  return withArchive(source, async ({ env, sql, store }) => {
    const files = await listFiles(sql, day)
    if (files.length === 0)
      throw new AppError('not_found', `The day ${day} has no files: it is not archived.`)
    try {
      const { traces, spans } = await verifyArchived(
        { sql, store, address: databaseAddress(env) },
        day,
      )
      output.out(`${day}: ${files.length} files, ${traces} traces and ${spans} spans agree.\n`)
      return 0
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      output.error(`${day}: ${thrown.message}\n`)
      return 1
    }
  })
}
