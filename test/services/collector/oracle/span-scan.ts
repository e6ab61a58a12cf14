import { REQUEST_TAGS as TAGS } from '../../../../services/collector/otlp/tags.ts'
import { createAttributeIndex } from './attribute-index.ts'
import type { AttributeIndex } from './attribute-index.ts'
import { addAttribute, clearAttributes } from './attributes.ts'
import { addItem, clearItems, createItemIndex, readFixed32 } from './events-and-links.ts'
import type { ItemIndex } from './events-and-links.ts'
import { scanKeyValue } from './json-value.ts'
import { checkEnd, readEnd, readVarint, skipField } from './tape.ts'
import type { Tape } from './tape.ts'

/**
 * Where the fields of the span at hand lie in the request. Made once and used for every span. A
 * place of -1 and an end of -1 mean that the field is absent.
 */
export interface SpanScan {
  traceIdFrom: number
  traceIdSize: number
  spanIdFrom: number
  spanIdSize: number
  parentFrom: number
  parentSize: number
  stateFrom: number
  stateEnd: number
  nameFrom: number
  nameEnd: number
  messageFrom: number
  messageEnd: number
  startAt: number
  endAt: number
  kind: number
  status: number
  flags: number
  droppedAttributes: number
  droppedEvents: number
  droppedLinks: number
  readonly attributes: AttributeIndex
  readonly events: ItemIndex
  readonly links: ItemIndex
}

export function createSpanScan(): SpanScan {
  return {
    ...ABSENT,
    attributes: createAttributeIndex(),
    events: createItemIndex(),
    links: createItemIndex(),
  }
}

const ABSENT = {
  traceIdFrom: 0,
  traceIdSize: 0,
  spanIdFrom: 0,
  spanIdSize: 0,
  parentFrom: 0,
  parentSize: 0,
  stateFrom: 0,
  stateEnd: -1,
  nameFrom: 0,
  nameEnd: 0,
  messageFrom: 0,
  messageEnd: -1,
  startAt: -1,
  endAt: -1,
  kind: 0,
  status: 0,
  flags: 0,
  droppedAttributes: 0,
  droppedEvents: 0,
  droppedLinks: 0,
}

/** Reads the Span message in [at, end). */
export function scanSpan(tape: Tape, scan: SpanScan, end: number): void {
  clear(scan)
  while (tape.at < end) {
    tape.tag = readVarint(tape)
    if ((tape.tag & 7) === 2) scanBytes(tape, scan, readEnd(tape, end))
    else scanNumber(tape, scan, end)
  }
  checkEnd(tape, end)
}

/** A field with a length; it ends at `end`. */
function scanBytes(tape: Tape, scan: SpanScan, end: number): void {
  const from = tape.at
  switch (tape.tag) {
    case TAGS.span.attributes:
      scanKeyValue(tape, end)
      addAttribute(scan.attributes, tape)
      break
    case TAGS.span.traceId:
      scan.traceIdFrom = from
      scan.traceIdSize = end - from
      break
    case TAGS.span.spanId:
      scan.spanIdFrom = from
      scan.spanIdSize = end - from
      break
    case TAGS.span.traceState:
      scan.stateFrom = from
      scan.stateEnd = end
      break
    case TAGS.span.parentSpanId:
      scan.parentFrom = from
      scan.parentSize = end - from
      break
    case TAGS.span.name:
      scan.nameFrom = from
      scan.nameEnd = end
      break
    case TAGS.span.events:
      addItem(scan.events, from, end)
      break
    case TAGS.span.links:
      addItem(scan.links, from, end)
      break
    case TAGS.span.status:
      scanStatus(tape, scan, end)
      break
    default:
  }
  tape.at = end
}

/** A field of a fixed width, or a varint. */
function scanNumber(tape: Tape, scan: SpanScan, end: number): void {
  switch (tape.tag) {
    case TAGS.span.kind:
      scan.kind = readVarint(tape)
      break
    case TAGS.span.startTimeUnixNano:
      scan.startAt = tape.at
      tape.at += 8
      break
    case TAGS.span.endTimeUnixNano:
      scan.endAt = tape.at
      tape.at += 8
      break
    case TAGS.span.droppedAttributesCount:
      scan.droppedAttributes = readVarint(tape) >>> 0
      break
    case TAGS.span.droppedEventsCount:
      scan.droppedEvents = readVarint(tape) >>> 0
      break
    case TAGS.span.droppedLinksCount:
      scan.droppedLinks = readVarint(tape) >>> 0
      break
    case TAGS.span.flags:
      scan.flags = readFixed32(tape, end)
      break
    default:
      skipField(tape, tape.tag, end)
  }
}

function scanStatus(tape: Tape, scan: SpanScan, end: number): void {
  while (tape.at < end) {
    const tag = readVarint(tape)
    if (tag === TAGS.status.message) {
      scan.messageEnd = readEnd(tape, end)
      scan.messageFrom = tape.at
      tape.at = scan.messageEnd
    } else if (tag === TAGS.status.code) scan.status = readVarint(tape)
    else skipField(tape, tag, end)
  }
  checkEnd(tape, end)
}

function clear(scan: SpanScan): void {
  scan.traceIdSize = 0
  scan.spanIdSize = 0
  scan.parentSize = 0
  scan.stateEnd = -1
  scan.nameFrom = 0
  scan.nameEnd = 0
  scan.messageEnd = -1
  scan.startAt = -1
  scan.endAt = -1
  scan.kind = 0
  scan.status = 0
  scan.flags = 0
  scan.droppedAttributes = 0
  scan.droppedEvents = 0
  scan.droppedLinks = 0
  clearAttributes(scan.attributes)
  clearItems(scan.events)
  clearItems(scan.links)
}
