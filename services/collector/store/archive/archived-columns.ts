import { PROMOTED_COLUMNS } from '../../conventions/columns.ts'
import { wholeAttributes } from '../../conventions/whole-attributes.ts'
import { SPAN_COLUMNS } from '../../otlp/span-columns.ts'
import { partitionName } from '../spans/partitions.ts'
import { ofRows } from './day-rows.ts'
import type { DayRows } from './day-rows.ts'

/** The values of a span as PostgreSQL writes them, in the order of `ARCHIVED_COLUMNS`. */
export type ArchivedRow = readonly (string | null)[]

type Kind = 'uuid' | 'time' | 'int64' | 'int32' | 'double' | 'bool' | 'text'

interface ArchivedColumn {
  readonly name: string
  readonly kind: Kind
}

const FIXED: Readonly<Record<string, Kind>> = {
  trace_id: 'uuid',
  start_time: 'time',
  start_ns: 'int32',
  kind: 'int32',
  status: 'int32',
  llm_call: 'bool',
}
const WHOLE = new Set(['span_id', 'parent_span_id', 'resource_id', 'scope_id', 'flags'])
const DURATION = /^(?:duration_ns|dropped_\w+)$/

function kindOf(name: string): Kind {
  const promoted = PROMOTED_COLUMNS.find(({ column }) => column === name)?.kind
  if (promoted === 'count' || WHOLE.has(name) || DURATION.test(name)) return 'int64'
  return promoted === 'number' ? 'double' : (FIXED[name] ?? 'text')
}

/** The columns of `spans`, and how they are in files, where all attributes are together. */
export const STORED_COLUMNS: readonly ArchivedColumn[] = SPAN_COLUMNS.filter(
  (name) => name !== 'left_out',
).map((name) => ({ name, kind: kindOf(name) }))

/** With them what sent a span, as JSON, for those who read the files without the database. */
export const ARCHIVED_COLUMNS: readonly ArchivedColumn[] = [
  ...STORED_COLUMNS,
  { name: 'resource', kind: 'text' },
  { name: 'scope', kind: 'text' },
]

/** The place of a column of `spans` in a row. */
export const placeOf = (wanted: string): number =>
  STORED_COLUMNS.findIndex(({ name }) => name === wanted)
/** The places of values in a row. */
export const TRACE_ID = placeOf('trace_id')
/** The place of the organization in a row. */
export const ORGANIZATION = placeOf('organization')

const ATTRIBUTES = placeOf('attributes')

/** The row that `selectArchived` has selected, with all of its attributes together. */
export function toArchivedRow(row: ArchivedRow): ArchivedRow {
  const leftOut = row.at(-1)
  const values = row.slice(0, -1)
  if (typeof leftOut !== 'string') return values
  const attributes = wholeAttributes({
    attributes: row[ATTRIBUTES] ?? null,
    leftOut: Buffer.from(leftOut.slice('\\x'.length), 'hex'),
    valueOf: (column) => row[placeOf(column)],
  })
  return values.with(ATTRIBUTES, attributes)
}

/** A value for a file. */
export function toFileValue(kind: Kind, text: string | null): unknown {
  if (text === null || kind === 'uuid' || kind === 'text') return text
  if (kind === 'int64' || kind === 'time') return BigInt(text)
  return kind === 'bool' ? text === 't' : Number(text)
}

/** The value of a file as PostgreSQL writes it; a time in microseconds since 1970. */
export function toText(value: unknown): string | null {
  if (typeof value === 'boolean') return value ? 't' : 'f'
  if (typeof value === 'number' || typeof value === 'bigint') return `${value}`
  return typeof value === 'string' ? value : null
}

const SHOWN: Readonly<Record<string, string>> = {
  start_time: '(extract(epoch from spans.start_time) * 1000000)::int8',
  resource: `jsonb_build_object('attributes', resources.attributes)`,
  scope: `jsonb_build_object('name', scopes.name, 'version', scopes.version)`,
}

/** Selects rows of a partition in the order of the files; behind each is what it leaves out. */
export const selectArchived = (rows: DayRows): string => `
  select ${ARCHIVED_COLUMNS.map(({ name }) => SHOWN[name] ?? `spans.${name}`).join(', ')},
    spans.left_out
  from ${partitionName(rows.day)} as spans
  left join resources on resources.id = resource_id and resources.organization = spans.organization
  left join scopes on scopes.id = scope_id and scopes.organization = spans.organization
  where ${ofRows(rows, 'spans.organization')}
  order by spans.organization collate "C", spans.trace_id, spans.start_time, spans.span_id`
