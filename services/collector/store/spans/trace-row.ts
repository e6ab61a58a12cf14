import type { CallPrices } from '../roll-ups/call-price.ts'
import {
  HAS_CALLS_BIT,
  HAS_TEXTS_BIT,
  NOTED_COLUMNS,
  NOTED_FORM,
  OWNER_COLUMNS,
} from '../roll-ups/noted-rows.ts'
import { packUsage } from '../roll-ups/packed-usage.ts'
import { USED_COLUMNS } from '../roll-ups/used-columns.ts'
import { MAX_NAMES, TERM_SOURCES, toTerm } from '../roll-ups/terms.ts'
import { createFieldWriter, NO_PREFIX, writeLength, writeTexts } from './field-writer.ts'
import type { FieldWriter, PrefixedList } from './field-writer.ts'
import { createRowReader, FAILED, placeOf } from './row-reader.ts'
import type { RowReader } from './row-reader.ts'
import { createTraceSums, LAST_SUMMED } from './trace-sums.ts'
import type { TraceSums } from './trace-sums.ts'

const TRACE_ID = placeOf('trace_id')
const SPAN_ID = placeOf('span_id')
const ORGANIZATION = placeOf('organization')
const START_NS = placeOf('start_ns')
const DURATION = placeOf('duration_ns')
const RESOURCE = placeOf('resource_id')
const STATUS = placeOf('status')
const NAME = placeOf('name')
const TITLE = placeOf('title')
const OWNERS = OWNER_COLUMNS.map(placeOf)

/** A trace with a longer name is left to the leader. */
const MAX_NAME_BYTES = 1024
const STATUSES = {
  incomplete: Buffer.from('incomplete'),
  error: Buffer.from('error'),
  running: Buffer.from('running'),
  ok: Buffer.from('ok'),
}
const PREFIXES = TERM_SOURCES.map(({ kind }) => Buffer.from(toTerm(kind, '')))
const SERVICE_PREFIX = Buffer.from(toTerm('service', ''))
const AGENTS = TERM_SOURCES.findIndex(({ kind }) => kind === 'agent')

/** The service that a resource names; undefined where that takes a look at what is stored. */
export type ServiceOf = (resourceId: bigint) => Buffer | null | undefined

/** Of the rows of traces in `bytes`. What it returns holds until it is called again. */
export type TraceRows = (
  bytes: Buffer,
  serviceOf: ServiceOf,
  traces: Iterable<readonly number[]>,
) => Buffer

/**
 * Makes the roll-ups of traces of their rows, which begin at the given places, as
 * `roll-up-statement.ts` makes them of spans, and packs them as `unpackRows` reads them. One is
 * missing where its spans have to be read.
 */
export function createTraceRows(prices: CallPrices): TraceRows {
  const reader = createRowReader(Math.max(TITLE, LAST_SUMMED))
  const sumUp = createTraceSums(reader, prices)
  const writer = createFieldWriter()
  return (bytes, serviceOf, traces) => {
    reader.use(bytes)
    writer.begin(bytes)
    writer.byte(NOTED_FORM)
    writer.raw(0, prices.key.length, prices.key)
    for (const rows of traces) {
      const sums = sumUp(rows)
      const hasCalls = sums !== undefined && sums.usage.parts.count > 0
      writer.byte((sums?.hasTexts ? HAS_TEXTS_BIT : 0) | (hasCalls ? HAS_CALLS_BIT : 0))
      const rowAt = writer.end()
      writer.int4(0)
      if (sums) writeRow(writer, reader, { sums, serviceOf })
      writeLength(writer, rowAt)
      if (!hasCalls) continue
      const usageAt = writer.end()
      writer.int4(0)
      packUsage(writer, sums.usage.parts, bytes)
      writeLength(writer, usageAt)
    }
    return writer.written()
  }
}

/** Writes `NOTED_COLUMNS`, or nothing. */
function writeRow(
  writer: FieldWriter,
  reader: RowReader,
  { sums, serviceOf }: { readonly sums: TraceSums; readonly serviceOf: ServiceOf },
): void {
  const { headAt, isRooted, headUs, firstUs, lastUs, endUs, owners, usage } = sums
  reader.open(headAt)
  const service = serviceOf(reader.bigint(RESOURCE))
  const name = reader.size(TITLE) < 0 ? NAME : TITLE
  if (service === undefined || reader.size(name) > MAX_NAME_BYTES) return
  const copy = (place: number): void => writer.copy(reader.begin(place), reader.size(place))
  const copyOfRoot = (place: number): void => (isRooted ? copy(place) : writer.int8(null))
  writer.int2(NOTED_COLUMNS.length + (usage.parts.count > 0 ? USED_COLUMNS.length : 0))
  copy(ORGANIZATION)
  copy(TRACE_ID)
  writer.int8(isRooted ? headUs : firstUs)
  writer.int8(firstUs)
  writer.int8(lastUs)
  writer.int8(endUs === -Infinity ? null : endUs)
  copyOfRoot(DURATION)
  copyOfRoot(SPAN_ID)
  copy(START_NS)
  writer.bytes(STATUSES[statusOf(reader, isRooted)])
  copy(name)
  writer.bytes(service)
  for (const [nr, list] of owners.entries()) {
    const place = OWNERS[nr] ?? 0
    if (reader.size(place) >= 0 || list.count() === 0) copy(place)
    else writer.copy(list.begin(0), list.size(0))
  }
  writeTexts(writer, agentsOf(sums))
  writer.int8(sums.spans)
  writer.int8(sums.errorSpans)
  writeTexts(
    writer,
    sums.names.map((list, nr) => ({
      prefix: PREFIXES[nr] ?? NO_PREFIX,
      list,
      count: list.count(),
    })),
    service === null ? undefined : Buffer.concat([SERVICE_PREFIX, service]),
  )
}

function agentsOf({ names }: TraceSums): PrefixedList[] {
  const list = names[AGENTS]
  return list ? [{ prefix: NO_PREFIX, list, count: Math.min(list.count(), MAX_NAMES) }] : []
}

function statusOf(reader: RowReader, isRooted: boolean): keyof typeof STATUSES {
  if (!isRooted) return 'incomplete'
  if (reader.int2(STATUS) === FAILED) return 'error'
  return reader.size(DURATION) < 0 ? 'running' : 'ok'
}
