import { AppError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { ObjectStore } from '../../../shared/object-store/object-store.ts'
import { createArchiveReader } from './archive-reader.ts'
import { openArchiveStore } from './archive-store.ts'
import type { DescribedFile } from './archive-files.ts'
import type { Rewritten, ToRestore } from './restore-traces.ts'

/** The files of archived days, as the collector uses them. */
export interface ColdDays {
  readonly store: ObjectStore
  /** Brings spans back into the database. Raises `unavailable`. */
  restore(missing: readonly ToRestore[]): Promise<void>
  /** Writes files anew without a trace. Raises `unavailable`. */
  without(traceId: string, files: readonly DescribedFile[]): Promise<readonly Rewritten[]>
  close(): void
}

interface ColdDaysOptions {
  /** The collector's own file, which the process that reads files is started from. */
  readonly program: string | undefined
  readonly source: Readonly<Record<string, string | undefined>>
  readonly log: Log
}

/**
 * Opens the archived days that the variables name; undefined where they name no store. Starts
 * nothing before the first question for one. Raises `invalid_configuration`.
 */
export function openColdDays(
  config: Parameters<typeof openArchiveStore>[0],
  { program, ...options }: ColdDaysOptions,
): ColdDays | undefined {
  const store = openArchiveStore(config)
  if (!store) return undefined
  if (program === undefined) {
    const message = 'Archived days are read by a collector that is a program of its own.'
    throw new AppError('invalid_configuration', message)
  }
  const reader = createArchiveReader({ program, ...options })
  return {
    store,
    async restore(missing) {
      for (const restore of missing) await reader.perform({ restore })
    },
    without: (traceId, files) => reader.perform({ without: traceId, files }),
    close: () => reader.close(),
  }
}
