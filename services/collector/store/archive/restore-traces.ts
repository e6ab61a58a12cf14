import { openCopyConnection, quote } from '../../../shared/postgres/copy/copy-connection.ts'
import type { CopyConnection } from '../../../shared/postgres/copy/copy-connection.ts'
import type { DatabaseAddress } from '../../../shared/postgres/address.ts'
import type { ObjectStore } from '../../../shared/object-store/object-store.ts'
import { storeFile } from './archive-files.ts'
import type { ArchiveParts, DescribedFile } from './archive-files.ts'
import { STORED_COLUMNS, TRACE_ID } from './archived-columns.ts'
import type { ArchivedRow } from './archived-columns.ts'
import { readArchivedFile } from './archive-store.ts'
import type { ArchivedFile } from './archive-store.ts'
import { readSpanFile } from './span-file.ts'

/** Traces of an organization in an archived day, and the files that may have them. */
export interface ToRestore {
  /** In ISO 8601. */
  readonly day: string
  readonly organization: string
  /** UUIDs. */
  readonly traceIds: readonly string[]
  readonly files: readonly ArchivedFile[]
}

/** A file that was written anew without a trace. */
export interface Rewritten {
  readonly path: string
  /** Spans that are not in the new one. */
  readonly spans: number
  /** Undefined where nothing else was in it. */
  readonly instead: DescribedFile | undefined
}

/** Rows that are sent at a time. */
const SENT_BYTES = 1 << 16

/**
 * Brings spans back into the partition of their day, each trace once, whoever else does so at the
 * same time. Raises what the store raises.
 */
export async function restoreTraces(
  address: DatabaseAddress,
  store: ObjectStore,
  { day, organization, traceIds, files }: ToRestore,
): Promise<void> {
  const session = await openCopyConnection(address, { name: 'collector-restore' })
  const partition = `spans_${day.replaceAll('-', '')}`
  try {
    await session.query(`begin; lock table ${partition} in row exclusive mode`)
    const marked = await session.rows(`
      insert into restored_traces (day, organization, trace_id)
      select distinct ${quote(day)}::date, ${quote(organization)},
        unnest('{${traceIds.join()}}'::uuid[]) order by 3
      on conflict (day, organization, trace_id) do update set restored_at = now()
      returning trace_id, xmax = 0`)
    const wanted = new Set(marked.flatMap(([id, isNew]) => (isNew === 't' && id ? [id] : [])))
    if (wanted.size > 0) await copyBack(session, partition, linesOf(store, files, wanted))
    await session.query('commit')
  } finally {
    session.close()
  }
}

const copyBack = (
  session: CopyConnection,
  partition: string,
  lines: AsyncIterable<Buffer>,
): Promise<number> =>
  session.copyIn(
    `copy ${partition} (${STORED_COLUMNS.map(({ name }) => name).join(', ')}) from stdin`,
    lines,
  )

async function* linesOf(
  store: ObjectStore,
  files: readonly ArchivedFile[],
  wanted: ReadonlySet<string>,
): AsyncGenerator<Buffer> {
  let lines = ''
  for (const file of files) {
    for await (const row of readSpanFile(await readArchivedFile(store, file), {
      traceIds: wanted,
    })) {
      lines += toLine(row)
      if (lines.length < SENT_BYTES) continue
      yield Buffer.from(lines)
      lines = ''
    }
  }
  if (lines !== '') yield Buffer.from(lines)
}

const ESCAPED: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
}

/** A row as COPY reads it. */
const toLine = (row: ArchivedRow): string =>
  `${STORED_COLUMNS.map(({ kind }, at) => {
    const text = row[at] ?? null
    if (text === null) return '\\N'
    if (kind === 'time') return toTime(BigInt(text))
    return kind === 'text' ? text.replaceAll(/[\\\t\n\r]/g, (one) => ESCAPED[one] ?? one) : text
  }).join('\t')}\n`

const toTime = (us: bigint): string => {
  const micros = ((us % 1_000_000n) + 1_000_000n) % 1_000_000n
  const seconds = new Date(Number((us - micros) / 1000n)).toISOString().slice(0, 19)
  return `${seconds}.${`${micros}`.padStart(6, '0')}Z`
}

/**
 * Writes the files that have a trace anew without it, where it is in them. Nothing refers to the
 * new ones yet.
 */
export async function withoutTrace(
  parts: ArchiveParts,
  files: readonly DescribedFile[],
  traceId: string,
): Promise<readonly Rewritten[]> {
  const rewritten: Rewritten[] = []
  for (const file of files) {
    const kept: ArchivedRow[] = []
    for await (const row of readSpanFile(await readArchivedFile(parts.store, file))) {
      if (row[TRACE_ID] !== traceId) kept.push(row)
    }
    if (kept.length === file.spans) continue
    const instead = kept.length > 0 ? await storeFile(parts, file.day, kept) : undefined
    rewritten.push({ path: file.path, spans: file.spans - kept.length, instead })
  }
  return rewritten
}
