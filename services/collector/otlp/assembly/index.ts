import { NO_TRACE_IDS, REQUEST_RESOURCE_SPANS } from './constants'
import { RESOURCE_SPANS_SCOPE_SPANS, SCOPE_SPANS_SPANS } from './constants'
import * as attributes from './attributes'
import * as host from './host'
import { writeResource, writeScope } from './identities'
import * as items from './items'
import { clearRows, noteRow, passRows } from './noted-rows'
import { offsetOf, placeOf } from './output'
import { after, checkEnd, readEnd, readTag, readUntil, skipField } from './protobuf'
import * as scan from './span-scan'
import * as span from './span'
import * as text from './text'

export { notedOffsets, notedStarts } from './noted-rows'
export { writeWithin } from './output'
export { addKind, addName, addScope, addWord } from './kinds'
export { setBareCall, setEntityColumn, setNamedBySpan } from './promoted-columns'
export { setOperation, setPromoted, setWorkflow } from './promoted-columns'
export { ownTexts, setNumber, setText } from './promoted-values'
export { addKey, setCode } from './promoted-keys'
export { classes, entries, entryItems } from './redaction/expressions'
export { fingerprints, pairs, setRedaction } from './redaction/find'
export { organization, resourceId, scopeId } from './span'
export { setOrganization, setRowColumns, setWindow } from './span'
export { tableTexts } from './table-texts'

/** Spans of the request. */
export let spans: u32 = 0
/** Spans that are rows now. */
export let rows: u32 = 0
/** Of the rows: keys that a span gave more than once. */
export let duplicateKeys: u32 = 0
/** Of the rows: attributes, and events and links, beyond the limits. */
export let droppedAttributes: u32 = 0
/** Of the rows: events and links beyond the limits. */
export let droppedItems: u32 = 0
/** Spans without a trace id at all. */
let withoutId: u32 = 0

/** Strings that were cut to the length limit. */
export function truncated(): u32 {
  return text.truncated
}

function clear(): void {
  spans = rows = duplicateKeys = droppedAttributes = droppedItems = withoutId = 0
  text.clearTruncated()
  clearRows()
}

/**
 * Turns the ExportTraceServiceRequest in [from, end) into rows, which begin at `to`; returns how
 * many bytes of rows there are then in all. What is wrong with a span refuses that span; what is no
 * such message is raised by the host. One that was rewritten from JSON may point to texts in that.
 */
export function readRequest(from: usize, end: usize, to: usize, isRewritten: bool): usize {
  clear()
  readUntil(end, isRewritten)
  let at = from
  while (at < end) {
    const tag = readTag(at)
    if (tag == REQUEST_RESOURCE_SPANS) {
      const stop = readEnd(after, end)
      to = readResourceSpans(to, after, stop)
      at = stop
    } else at = skipField(tag, after, end)
  }
  checkEnd(at, end)
  if (spans > 0 && withoutId == spans) host.malformed(NO_TRACE_IDS)
  return offsetOf(to)
}

function readResourceSpans(to: usize, at: usize, end: usize): usize {
  // The document is written where the next row will be, only for the host to read it there.
  const start = offsetOf(to)
  to = writeResource(to, at, end)
  host.takeResource(placeOf(start), to)
  to = placeOf(start)
  const before = rows
  while (at < end) {
    const tag = readTag(at)
    if (tag == RESOURCE_SPANS_SCOPE_SPANS) {
      const stop = readEnd(after, end)
      to = readScopeSpans(to, after, stop)
      at = stop
    } else at = skipField(tag, after, end)
  }
  if (rows > before) host.keepResource()
  return to
}

function readScopeSpans(to: usize, at: usize, end: usize): usize {
  const start = offsetOf(to)
  to = writeScope(to, at, end)
  host.takeScope(placeOf(start), to)
  to = placeOf(start)
  const before = rows
  while (at < end) {
    const tag = readTag(at)
    if (tag == SCOPE_SPANS_SPANS) {
      const stop = readEnd(after, end)
      to = readSpan(to, after, stop)
      at = stop
    } else at = skipField(tag, after, end)
  }
  if (rows > before) host.keepScope()
  passRows()
  return to
}

function readSpan(to: usize, from: usize, end: usize): usize {
  const row = offsetOf(to)
  spans++
  to = span.writeSpan(to, from, end)
  if (scan.traceIdEnd == scan.traceId) withoutId++
  if (span.refusal != 0) {
    host.noteRefusal(span.refusal)
    return to
  }
  rows++
  duplicateKeys += attributes.duplicates
  droppedAttributes += attributes.dropped
  droppedItems += items.droppedEvents + items.droppedLinks
  noteRow(row, span.startTime)
  return to
}
