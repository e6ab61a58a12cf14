import type { CopyStream } from '../../../shared/postgres/copy/copy-connection.ts'
import { beginOfRow, field, streamOf } from '../../../shared/postgres/copy/copy-rows.ts'
import { int32 } from '../../../shared/postgres/copy/wire-messages.ts'
import { messagesOf } from '../../conventions/messages.ts'
import { createRowReader } from '../spans/row-reader.ts'
import { excerptOf } from './excerpt.ts'
import { UNSIGNED_COLUMNS } from './signature-statements.ts'
import { TEXTS } from './signature.ts'
import type { Signatures } from './signature.ts'

/** Spans on their way into `text_signatures`. */
export interface SignedTexts {
  /** Takes what `readUnsigned` sends: a span with what its text is read from, or none. */
  add(message: Buffer): void
  /** How many spans were taken. */
  spans(): number
  /** How many of the spans that were to be signed were not sent. */
  left(): number
  /** The signatures of all of them, as `COPY_SIGNATURES` takes them. */
  stream(): CopyStream
}

const placeOf = (column: (typeof UNSIGNED_COLUMNS)[number]): number =>
  UNSIGNED_COLUMNS.indexOf(column)
const UNSIGNED = placeOf('unsigned')
const START = placeOf('start_time')
const TRACE_ID = placeOf('trace_id')
const MEMBER = placeOf('member')
const ATTRIBUTES = placeOf('attributes')
const PAYLOAD = placeOf('payload')
const EVENTS = placeOf('events')

const INT4_BYTES = 4
const UUID = { oid: 2950, size: 16 }
const INT8 = { oid: 20, size: 8 }

/** Makes signatures of the texts of spans of an organization, in the order in which these come. */
export function createSignedTexts(organization: string, signatureOf: Signatures): SignedTexts {
  const reader = createRowReader(EVENTS)
  const traceIds = createArray(UUID)
  const members = createArray(INT8)
  const rows: Buffer[] = []
  let spans = 0
  let unsigned = 0
  let texts: string[] = []
  let starts: number[] = []
  const documentAt = (place: number): string | null => {
    const [begin, size] = [reader.begin(place), reader.size(place)]
    return size < 0 ? null : reader.bytes().toString('utf8', begin, begin + size)
  }
  const finish = (): void => {
    const signature = signatureOf(texts)
    rows.push(
      int2(COLUMNS),
      ...[Math.min(...starts), Math.max(...starts)].flatMap((us) => field(int8(us))),
      ...field(Buffer.from(organization)),
      ...field(int2(texts.length)),
      ...[traceIds, members].flatMap((array) => field(array.take())),
      ...field(signature),
    )
    texts = []
    starts = []
  }
  return {
    add(message) {
      const at = beginOfRow(message)
      if (at === undefined) return
      reader.use(message)
      reader.open(at)
      const documents = [ATTRIBUTES, PAYLOAD, EVENTS].map(documentAt)
      const [attributes = null, payload = null, events = null] = documents
      texts.push(excerptOf(messagesOf({ attributes, payload, events })).text)
      starts.push(reader.int8(START))
      traceIds.add(message, reader.begin(TRACE_ID))
      members.add(message, reader.begin(MEMBER))
      spans += 1
      unsigned = reader.int8(UNSIGNED)
      if (texts.length === TEXTS) finish()
    },
    spans: () => spans,
    left: () => unsigned - spans,
    stream() {
      if (texts.length > 0) finish()
      return streamOf(rows)
    },
  }
}

/** Of a row of `COPY_SIGNATURES`. */
const COLUMNS = 7

const int2 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int8(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

/** Makes arrays of values of a type, which are copied from where they are. */
function createArray({ oid, size }: typeof UUID) {
  const elements = Buffer.alloc(TEXTS * (INT4_BYTES + size))
  let end = 0
  let count = 0
  return {
    add(source: Buffer, begin: number): void {
      end = elements.writeInt32BE(size, end)
      end += source.copy(elements, end, begin, begin + size)
      count += 1
    },
    /** One dimension, without nulls, from 1. */
    take(): Buffer {
      const array = Buffer.concat([...[1, 0, oid, count, 1].map(int32), elements.subarray(0, end)])
      end = 0
      count = 0
      return array
    },
  }
}
