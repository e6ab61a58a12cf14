import { TRACE_ID_BYTES } from '../../otlp/limits.ts'

/** What says whose a trace is, beside the organization: of its root, or else of any span. */
export const OWNER_COLUMNS: readonly string[] = ['crew_id', 'kickoff_id', 'session_id', 'user_id']

/** The columns of `traces` that a note has the rows of, in their order, for those without calls. */
export const NOTED_COLUMNS: readonly string[] = [
  ['organization', 'trace_id', 'start_time', 'first_start', 'last_start', 'end_time'],
  ['duration_ns', 'root_span_id', 'start_ns', 'status', 'name', 'service', ...OWNER_COLUMNS],
  ['agents', 'spans', 'error_spans', 'terms'],
].flat()

/** The roll-up of a trace: the beginning of its row for COPY BINARY, which is all without calls. */
export interface NotedRow {
  readonly row: Buffer
  /** The fields of its organization and its trace id. */
  readonly ids: Buffer
  /** Its start, in microseconds since 2000. */
  readonly startUs: number
  readonly hasTexts: boolean
  /** What its calls add up to, as `packUsage` writes it; undefined without calls. */
  readonly usage: Buffer | undefined
}

/**
 * Another number for each change of what rows are made of, or of how they are packed: during an
 * upgrade two releases write and read them.
 */
export const NOTED_FORM = 2
/** What differs with the prices has so many. */
export const PRICES_KEY_BYTES = 8
const FIRST_ROW_AT = 1 + PRICES_KEY_BYTES

/** Bits of what a trace has. */
export const HAS_TEXTS_BIT = 1
export const HAS_CALLS_BIT = 2

/**
 * Unpacks what begins with the form and the key of prices and has, for each trace of a note, what
 * it has, the lengths of its row, 0 for none, and of what its calls add up to, and these. Finds
 * nothing of another release, and no calls by other prices.
 */
export function unpackRows(packed: Buffer, pricesKey: Buffer): (NotedRow | undefined)[] {
  const rows: (NotedRow | undefined)[] = []
  if (packed[0] !== NOTED_FORM) return rows
  const arePricesSame = packed.subarray(1, FIRST_ROW_AT).equals(pricesKey)
  let at = FIRST_ROW_AT
  const next = (): Buffer => {
    const begin = at + LENGTH_BYTES
    at = begin + packed.readUInt32BE(at)
    return packed.subarray(begin, at)
  }
  while (at < packed.length) {
    const bits = packed[at++] ?? 0
    const row = next()
    const usage = (bits & HAS_CALLS_BIT) > 0 ? next() : undefined
    const isKnown = row.length > 0 && (arePricesSame || !usage)
    rows.push(isKnown ? toNoted(row, (bits & HAS_TEXTS_BIT) > 0, usage) : undefined)
  }
  return rows
}

const COUNT_BYTES = 2
const LENGTH_BYTES = 4
const TWO_POW_32 = 2 ** 32

/** Organization, trace id and start are the first fields. */
function toNoted(row: Buffer, hasTexts: boolean, usage: Buffer | undefined): NotedRow {
  const traceIdAt = COUNT_BYTES + LENGTH_BYTES + row.readInt32BE(COUNT_BYTES)
  const end = traceIdAt + LENGTH_BYTES + TRACE_ID_BYTES
  const startAt = end + LENGTH_BYTES
  const startUs = row.readInt32BE(startAt) * TWO_POW_32 + row.readUInt32BE(startAt + LENGTH_BYTES)
  return { row, ids: row.subarray(COUNT_BYTES, end), startUs, hasTexts, usage }
}
