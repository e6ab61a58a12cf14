import { writeFile } from 'node:fs/promises'
import { databaseAddress } from '../../../shared/postgres/address.ts'
import { connectDatabase } from '../../../shared/postgres/database.ts'
import { AppError, toAppError } from '../../../shared/errors.ts'
import type { ErrorCode } from '../../../shared/errors.ts'
import type { EnvSource } from '../../../shared/env.ts'
import { readConfig } from '../../env.ts'
import { openArchiveStore } from './archive-store.ts'
import type { DescribedFile } from './archive-files.ts'
import type { ArchivedFile } from './archive-store.ts'
import { findHolders } from './attribute-holders.ts'
import type { SoughtAttribute } from './attribute-holders.ts'
import { restoreTraces, withoutTrace } from './restore-traces.ts'
import type { Rewritten, ToRestore } from './restore-traces.ts'

/** What the reader process is asked for. */
export type ReaderTask =
  | { readonly restore: ToRestore }
  | { readonly without: string; readonly files: readonly DescribedFile[] }
  | { readonly holdersOf: SoughtAttribute; readonly file: ArchivedFile }

/** What a task has found or made. */
export interface ReaderOutcome {
  readonly rewritten?: readonly Rewritten[]
  /** UUIDs. */
  readonly holders?: readonly string[]
}

/** A task, and its outcome, by the number of the question. */
export interface ReaderQuestion {
  readonly nr: number
  readonly task: ReaderTask
}

/** The outcome of a task. */
export interface ReaderAnswer extends ReaderOutcome {
  readonly nr: number
  readonly failure?: { readonly code: ErrorCode; readonly message: string }
}

/**
 * `main.js archive:reader`, which the collector starts: reads files of archived days for it, until
 * the collector ends. The kernel ends it before others when memory is short.
 */
export async function runReader(source: EnvSource): Promise<void> {
  const config = readConfig(source)
  const store = openArchiveStore(config)
  if (!store) throw new AppError('invalid_configuration', 'There is no store of archived days.')
  const address = databaseAddress(config)
  const sql = connectDatabase(address, { name: 'collector-restore', max: 1 })
  // Only Linux has the file.
  await writeFile('/proc/self/oom_score_adj', '1000').catch(() => {})
  const perform = async (task: ReaderTask): Promise<ReaderOutcome> => {
    if ('without' in task)
      return { rewritten: await withoutTrace({ sql, store }, task.files, task.without) }
    if ('holdersOf' in task)
      return { holders: await findHolders({ sql, store }, task.file, task.holdersOf) }
    await restoreTraces(address, store, task.restore)
    return {}
  }
  process.on('message', ({ nr, task }: ReaderQuestion) => {
    void perform(task).then(
      (outcome) => process.send?.({ nr, ...outcome } satisfies ReaderAnswer),
      (thrown: unknown) =>
        process.send?.({ nr, failure: failureOf(thrown) } satisfies ReaderAnswer),
    )
  })
  process.once('disconnect', () => process.exit())
}

/** Whatever else went wrong while a file was read is a fault of the file. */
function failureOf(thrown: unknown): ReaderAnswer['failure'] {
  if (thrown instanceof AppError) return { code: thrown.code, message: thrown.message }
  const { cause } = toAppError(thrown)
  const why = cause instanceof Error ? cause.message : 'unknown'
  return { code: 'unavailable', message: `An archived file cannot be read: ${why}` }
}
