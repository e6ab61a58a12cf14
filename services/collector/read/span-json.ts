import { KEPT_COLUMNS } from '../conventions/left-out-keys.ts'
import { wholeAttributes } from '../conventions/whole-attributes.ts'
import { parseStored, isObject, storedCount, storedText, toKeyValues } from './stored-values.ts'
import type { KeyValue, Stored, StoredObject } from './stored-values.ts'

/** A row of `spans` as it is read: int8 columns are decimal strings, JSON columns their text. */
export interface SpanRow {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  /** Microseconds since 1970. */
  readonly startUs: string
  /** The nanoseconds beyond them. */
  readonly startNs: number
  readonly durationNs: string | null
  readonly kind: number
  readonly status: number
  readonly statusMessage: string | null
  readonly name: string
  readonly traceState: string | null
  readonly flags: string | null
  readonly droppedAttributes: string | null
  readonly droppedEvents: string | null
  readonly droppedLinks: string | null
  readonly attributes: string | null
  /** The attributes that are in columns alone, which the row has, too: see `attributesOfRow`. */
  readonly leftOut: Uint8Array | null
  readonly payload: string | null
  readonly events: string | null
  readonly links: string | null
}

/** A row of `resources` or `scopes`; only scopes have a name and a version. */
export interface IdentityRow {
  readonly id: string
  readonly attributes: string | null
  readonly droppedAttributes: string | null
  readonly schemaUrl: string | null
  readonly name?: string
  readonly version?: string | null
}

/**
 * A Span of OTLP's JSON encoding: ids in hexadecimal, times as decimal nanoseconds, absent fields
 * left out.
 */
export function toSpanJson(row: SpanRow): object {
  const start = BigInt(row.startUs) * 1000n + BigInt(row.startNs)
  return {
    traceId: row.traceId.replaceAll('-', ''),
    spanId: toHexId(row.spanId),
    traceState: row.traceState ?? undefined,
    parentSpanId: row.parentSpanId === null ? undefined : toHexId(row.parentSpanId),
    flags: toCount(row.flags),
    name: row.name,
    kind: row.kind,
    startTimeUnixNano: `${start}`,
    endTimeUnixNano: row.durationNs === null ? undefined : endOf(start, row.durationNs),
    attributes: nonEmpty([
      ...parse(attributesOfRow(row), toKeyValues),
      ...parse(row.payload, toKeyValues),
    ]),
    droppedAttributesCount: toCount(row.droppedAttributes),
    events: nonEmpty(parse(row.events, toEvents)),
    droppedEventsCount: toCount(row.droppedEvents),
    links: nonEmpty(parse(row.links, toLinks)),
    droppedLinksCount: toCount(row.droppedLinks),
    status: toStatus(row),
  }
}

/** A Resource or an InstrumentationScope. */
export function toIdentityJson(row: IdentityRow | undefined): object {
  if (!row) return {}
  return {
    name: row.name || undefined,
    version: row.version ?? undefined,
    attributes: nonEmpty(parse(row.attributes, toKeyValues)),
    droppedAttributesCount: toCount(row.droppedAttributes),
  }
}

const FIELDS = new Map(
  KEPT_COLUMNS.map((column) => [
    column,
    column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  ]),
)

/** All small attributes of a span, as JSON. */
export const attributesOfRow = (row: Pick<SpanRow, 'attributes' | 'leftOut'>): string | null =>
  wholeAttributes({
    ...row,
    valueOf: (column): unknown => Reflect.get(row, FIELDS.get(column) ?? column),
  })

/** A signed int8 as the sixteen hexadecimal digits of its bytes. */
export const toHexId = (id: string): string =>
  BigInt.asUintN(64, BigInt(id)).toString(16).padStart(16, '0')

/** The duration was taken modulo 2^64, so that an end before its start comes back as well. */
const endOf = (start: bigint, durationNs: string): string =>
  `${BigInt.asUintN(64, start + BigInt(durationNs))}`

const toCount = (count: string | null): number | undefined =>
  count === null ? undefined : Number(count)

function toStatus({ status, statusMessage }: SpanRow): object | undefined {
  if (status === 0 && statusMessage === null) return undefined
  return { code: status === 0 ? undefined : status, message: statusMessage ?? undefined }
}

const parse = <Item>(json: string | null, convert: (value: Stored) => Item[]): Item[] =>
  json === null ? [] : convert(parseStored(json))

const items = (value: Stored): StoredObject[] =>
  Array.isArray(value) ? value.filter((item: Stored) => isObject(item)) : []

const toEvents = (value: Stored): object[] =>
  items(value).map((event) => ({
    timeUnixNano: storedText(event['time']),
    name: storedText(event['name']),
    ...attributesOf(event),
  }))

const toLinks = (value: Stored): object[] =>
  items(value).map((link) => ({
    traceId: storedText(link['trace_id']),
    spanId: storedText(link['span_id']),
    traceState: storedText(link['trace_state']),
    ...attributesOf(link),
    flags: storedCount(link['flags']) || undefined,
  }))

function attributesOf(item: StoredObject): object {
  return {
    attributes: nonEmpty<KeyValue>(toKeyValues(item['attributes'])),
    droppedAttributesCount: storedCount(item['dropped_attributes']) || undefined,
  }
}

const nonEmpty = <Item>(list: Item[]): Item[] | undefined => (list.length > 0 ? list : undefined)
