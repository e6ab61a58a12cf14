import { REQUEST_TAGS as TAGS } from '../../../../services/collector/otlp/tags.ts'
import { MAX_ITEMS } from '../../../../services/collector/otlp/limits.ts'
import { beginField, endField, writeNull } from './copy-fields.ts'
import { writeAscii, writeJsonString } from './json-string.ts'
import { scanKeyValue, writeComma, writeMember } from './json-value.ts'
import { byteAt, checkEnd, malformed, readEnd, readVarint, reserve, skipField } from './tape.ts'
import type { Tape } from './tape.ts'

/** Where the events or the links of the span at hand lie. Made once and used for every span. */
export interface ItemIndex {
  count: number
  dropped: number
  readonly from: Int32Array
  readonly end: Int32Array
}

export function createItemIndex(): ItemIndex {
  return {
    count: 0,
    dropped: 0,
    from: new Int32Array(MAX_ITEMS),
    end: new Int32Array(MAX_ITEMS),
  }
}

export function clearItems(index: ItemIndex): void {
  index.count = 0
  index.dropped = 0
}

export function addItem(index: ItemIndex, from: number, end: number): void {
  if (index.count === MAX_ITEMS) {
    index.dropped++
    return
  }
  index.from[index.count] = from
  index.end[index.count] = end
  index.count++
}

/** A JSON array of the items, each written by `write`; null when there are none. */
export function writeItemsField(
  tape: Tape,
  index: ItemIndex,
  write: (tape: Tape, end: number) => void,
): void {
  reserve(tape, 4)
  if (index.count === 0) return writeNull(tape)
  const start = beginField(tape)
  writeAscii(tape, '[')
  for (let place = 0; place < index.count; place++) {
    if (place > 0) writeComma(tape)
    tape.at = index.from[place] ?? 0
    write(tape, index.end[place] ?? 0)
  }
  writeAscii(tape, ']')
  endField(tape, start)
}

/**
 * The Event message in [at, end). Times are decimal strings: JSON numbers lose nanoseconds in many
 * readers.
 */
export function writeEvent(tape: Tape, end: number): void {
  const from = tape.at
  let timeAt = -1
  let nameFrom = from
  let nameEnd = from
  let dropped = 0
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === TAGS.event.name) {
      nameEnd = readEnd(tape, end)
      nameFrom = tape.at
      tape.at = nameEnd
    } else if (tag === TAGS.event.timeUnixNano) {
      timeAt = tape.at
      tape.at += 8
    } else if (tag === TAGS.event.droppedAttributesCount) dropped = readVarint(tape) >>> 0
    else skipField(tape, tag, end)
  }
  checkEnd(tape, end)
  writeAscii(tape, `{"time":"${timeAt < 0 ? 0n : tape.src.readBigUInt64LE(timeAt)}","name":`)
  writeJsonString(tape, nameFrom, nameEnd)
  writeItemAttributes(tape, { from, end, tag: TAGS.event.attributes })
  writeAscii(tape, dropped > 0 ? `,"dropped_attributes":${dropped}}` : '}')
}

/** The Link message in [at, end). */
export function writeLink(tape: Tape, end: number): void {
  const from = tape.at
  let extra = ''
  writeAscii(tape, '{')
  let written = 0
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === TAGS.link.traceId || tag === TAGS.link.spanId || tag === TAGS.link.traceState) {
      if (written++ > 0) writeComma(tape)
      writeLinkText(tape, tag, readEnd(tape, end))
    } else if (tag === TAGS.link.droppedAttributesCount)
      extra += `,"dropped_attributes":${readVarint(tape) >>> 0}`
    else if (tag === TAGS.link.flags) extra += `,"flags":${readFixed32(tape, end)}`
    else skipField(tape, tag, end)
  }
  checkEnd(tape, end)
  if (written === 0) writeAscii(tape, '"trace_id":""')
  writeItemAttributes(tape, { from, end, tag: TAGS.link.attributes })
  writeAscii(tape, `${extra}}`)
}

function writeLinkText(tape: Tape, tag: number, end: number): void {
  if (tag === TAGS.link.traceState) {
    writeAscii(tape, '"trace_state":')
    writeJsonString(tape, tape.at, end)
  } else {
    const name = tag === TAGS.link.traceId ? 'trace_id' : 'span_id'
    const size = end - tape.at
    const id = tape.src.toString('hex', tape.at, Math.min(end, tape.at + 32))
    writeAscii(tape, `"${name}":"${id}"`)
    if (size > 32) writeAscii(tape, `,"${name}_cut":"[cut: 32 of ${size} bytes]"`)
  }
  tape.at = end
}

export function readFixed32(tape: Tape, end: number): number {
  if (tape.at + 4 > end) malformed('a number is cut off')
  const value = tape.srcView.getUint32(tape.at, true)
  tape.at += 4
  return value
}

/** `,"attributes":{…}` of all KeyValue fields `tag` in [from, end); nothing when there is none. */
function writeItemAttributes(
  tape: Tape,
  { from, end, tag }: { from: number; end: number; tag: number },
): void {
  tape.at = from
  let written = 0
  while (tape.at < end) {
    const found = readVarint(tape)
    if (found !== tag) {
      skipField(tape, found, end)
      continue
    }
    const stop = readEnd(tape, end)
    if (written++ > 0) writeComma(tape)
    else writeAscii(tape, ',"attributes":{')
    scanKeyValue(tape, stop)
    writeMember(tape)
    tape.at = stop
  }
  if (written > 0) writeAscii(tape, '}')
  tape.at = end
}

/** True when an id is all zeros, which OTLP declares invalid. */
export function isZero(src: Buffer, from: number, size: number): boolean {
  for (let i = 0; i < size; i++) if (byteAt(src, from + i) !== 0) return false
  return true
}
