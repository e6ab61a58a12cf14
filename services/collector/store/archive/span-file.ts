import { gunzipSync, gzipSync } from 'node:zlib'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import type { FileMetaData, SchemaElement } from 'hyparquet'
import { ByteWriter, parquetWrite } from 'hyparquet-writer'
import { ARCHIVED_COLUMNS, toFileValue, toText } from './archived-columns.ts'
import type { ArchivedRow } from './archived-columns.ts'

/** Spans that are decoded together: what is read for one trace. */
const GROUP_ROWS = 1024

const TYPES = {
  uuid: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
  int64: { type: 'INT64' },
  int32: { type: 'INT32' },
  double: { type: 'DOUBLE' },
  bool: { type: 'BOOLEAN' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
} as const satisfies Record<string, Omit<SchemaElement, 'name'>>

const SCHEMA: SchemaElement[] = [
  { name: 'spans', num_children: ARCHIVED_COLUMNS.length },
  ...ARCHIVED_COLUMNS.map(({ name, kind }) => ({
    name,
    repetition_type: 'OPTIONAL' as const,
    ...TYPES[kind],
  })),
]

/** Writes rows as a Parquet file, in their order. */
export function writeSpanFile(rows: readonly ArchivedRow[]): Buffer {
  const writer = new ByteWriter()
  const columnData = ARCHIVED_COLUMNS.map(({ name, kind }, at) => ({
    name,
    data: rows.map((row) => toFileValue(kind, row[at] ?? null)),
  }))
  const compressors = { GZIP: (bytes: Uint8Array) => gzipSync(bytes) }
  void parquetWrite({
    writer,
    columnData,
    schema: SCHEMA,
    codec: 'GZIP',
    compressors,
    rowGroupSize: GROUP_ROWS,
    createdBy: 'crew-platform',
  })
  return Buffer.from(writer.getBytes())
}

const READ = {
  compressors: { GZIP: (bytes: Uint8Array) => gunzipSync(bytes) },
  parsers: {
    // The usual decoder drops a mark at the beginning.
    stringFromBytes: (bytes: Uint8Array | undefined) =>
      bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(),
    timestampFromMicroseconds: (us: bigint) => us,
  },
}

interface WantedSpans {
  /** UUIDs. @default all */
  readonly traceIds?: ReadonlySet<string>
  /** The others are null. @default all */
  readonly columns?: readonly string[]
}

/** The rows of a file in their order. */
export async function* readSpanFile(
  bytes: Buffer,
  { traceIds, columns }: WantedSpans = {},
): AsyncGenerator<ArchivedRow> {
  const buffer = new Uint8Array(bytes).buffer
  const file = { byteLength: buffer.byteLength, slice: buffer.slice.bind(buffer) }
  const metadata = parquetMetadata(buffer, READ)
  let rowStart = 0
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows)
    if (!traceIds || mayHave(group, traceIds)) {
      const options = { ...READ, file, metadata, rowStart, rowEnd }
      const found = await parquetReadObjects(
        columns ? { ...options, columns: [...columns] } : options,
      )
      for (const values of found) {
        if (traceIds && !traceIds.has(String(values['trace_id']))) continue
        yield ARCHIVED_COLUMNS.map(({ name }) => toText(values[name]))
      }
    }
    rowStart = rowEnd
  }
}

/** By the statistics of the ids of traces, in whose order the rows are. */
function mayHave(
  { columns: [ids] }: FileMetaData['row_groups'][number],
  wanted: ReadonlySet<string>,
): boolean {
  const { min_value: first, max_value: last } = ids?.meta_data?.statistics ?? {}
  if (typeof first !== 'string' || typeof last !== 'string') return true
  return [...wanted].some((id) => id >= first && id <= last)
}
