import { EVENT_ATTRIBUTES, EVENT_DROPPED_ATTRIBUTES_COUNT, EVENT_NAME } from './constants'
import { EVENT_TIME_UNIX_NANO, LINK_ATTRIBUTES, LINK_DROPPED_ATTRIBUTES_COUNT } from './constants'
import { LINK_FLAGS, LINK_SPAN_ID, LINK_TRACE_ID, LINK_TRACE_STATE } from './constants'
import { MAX_ITEMS } from './constants'
import { beginField, endField, writeNull } from './fields'
import { offsetOf, placeOf, room, writeAscii, writeByte, writeUnsigned } from './output'
import { after, checkEnd, fixedAt, readEnd, readTag, readVarint, skipField } from './protobuf'
import { hexDigit, writeCutMark, writeString } from './text'
import { COMMA, writeMembers } from './value'

/** The events and the links of the span at hand. */

/** The beginning and the end of each: two words. */
const events: usize = memory.data(MAX_ITEMS * 8, 16)
const links: usize = memory.data(MAX_ITEMS * 8, 16)
let eventCount: u32 = 0
let linkCount: u32 = 0

/** Events, and links, beyond the limit. */
export let droppedEvents: u32 = 0
/** Links beyond the limit. */
export let droppedLinks: u32 = 0

/** Forgets the last span's events and links. */
export function clearItems(): void {
  eventCount = linkCount = droppedEvents = droppedLinks = 0
}

/** Notes the Event in [from, end). */
export function addEvent(from: usize, end: usize): void {
  if (eventCount == MAX_ITEMS) droppedEvents++
  else noteItem(events, eventCount++, from, end)
}

/** Notes the Link in [from, end). */
export function addLink(from: usize, end: usize): void {
  if (linkCount == MAX_ITEMS) droppedLinks++
  else noteItem(links, linkCount++, from, end)
}

function noteItem(entries: usize, place: u32, from: usize, end: usize): void {
  const entry = entries + ((<usize>place) << 3)
  store<u32>(entry, <u32>from)
  store<u32>(entry, <u32>end, 4)
}

/** The two columns: JSON arrays, or null. */
export function writeItems(to: usize): usize {
  to = writeArray(to, events, eventCount)
  return writeArray(to, links, linkCount)
}

function writeArray(to: usize, entries: usize, count: u32): usize {
  if (count == 0) return writeNull(room(to, 4))
  const start = offsetOf(to)
  to = writeAscii(beginField(to), '[')
  for (let place: u32 = 0; place < count; place++) {
    const entry = entries + ((<usize>place) << 3)
    if (place > 0) to = writeByte(to, COMMA)
    const from = <usize>load<u32>(entry)
    const end = <usize>load<u32>(entry, 4)
    to = entries == events ? writeEvent(to, from, end) : writeLink(to, from, end)
  }
  return endField(writeAscii(to, ']'), start)
}

/** Times are decimal strings: many readers lose the nanoseconds of JSON numbers. */
function writeEvent(to: usize, from: usize, end: usize): usize {
  let time: usize = 0
  let name = from
  let nameEnd = from
  let dropped: u32 = 0
  let at = from
  while (at < end) {
    const tag = readTag(at)
    if (tag == EVENT_NAME) {
      nameEnd = readEnd(after, end)
      name = after
      at = nameEnd
    } else if (tag == EVENT_TIME_UNIX_NANO) {
      time = after
      at = time + 8
    } else if (tag == EVENT_DROPPED_ATTRIBUTES_COUNT) {
      dropped = <u32>readVarint(after)
      at = after
    } else at = skipField(tag, after, end)
  }
  checkEnd(at, end)
  to = writeUnsigned(writeAscii(to, '{"time":"'), time == 0 ? 0 : load<u64>(time))
  to = writeString(writeAscii(to, '","name":'), name, nameEnd)
  to = writeItemAttributes(to, from, end, EVENT_ATTRIBUTES)
  if (dropped != 0) to = writeDropped(to, dropped)
  return writeAscii(to, '}')
}

function writeLink(to: usize, from: usize, end: usize): usize {
  to = writeAscii(to, '{')
  let isFirst = true
  let at = from
  while (at < end) {
    const tag = readTag(at)
    if (tag == LINK_FLAGS) at = fixedAt(after, end, 4) + 4
    else if (tag != LINK_TRACE_ID && tag != LINK_SPAN_ID && tag != LINK_TRACE_STATE) {
      at = skipField(tag, after, end)
    } else {
      const stop = readEnd(after, end)
      const content = after
      if (!isFirst) to = writeByte(to, COMMA)
      isFirst = false
      to = writeLinkText(to, content, stop, tag)
      at = stop
    }
  }
  checkEnd(at, end)
  if (isFirst) to = writeAscii(to, '"trace_id":""')
  to = writeItemAttributes(to, from, end, LINK_ATTRIBUTES)
  return writeAscii(writeLinkNumbers(to, from, end), '}')
}

function writeLinkText(to: usize, from: usize, end: usize, tag: u32): usize {
  if (tag == LINK_TRACE_STATE) return writeString(writeAscii(to, '"trace_state":'), from, end)
  const isTrace = tag == LINK_TRACE_ID
  to = writeAscii(to, isTrace ? '"trace_id":"' : '"span_id":"')
  to = writeByte(writeHex(to, from, end), QUOTE)
  if (end - from <= MAX_HEX_BYTES) return to
  to = writeAscii(to, isTrace ? ',"trace_id_cut":"' : ',"span_id_cut":"')
  return writeByte(writeCutMark(to, MAX_HEX_BYTES, end - from), QUOTE)
}

const QUOTE: u8 = 0x22
/** Of an id of the wrong length no more is kept, and the link says so. */
const MAX_HEX_BYTES: usize = 32

function writeHex(to: usize, from: usize, end: usize): usize {
  const stop = min(end, from + MAX_HEX_BYTES)
  to = room(to, 2 * MAX_HEX_BYTES)
  for (; from < stop; from++) {
    const byte = load<u8>(from)
    store<u8>(to, hexDigit(byte >> 4))
    store<u8>(to, hexDigit(byte & 15), 1)
    to += 2
  }
  return to
}

/** The numbers of a link that was read before, behind its attributes. */
function writeLinkNumbers(to: usize, at: usize, end: usize): usize {
  while (at < end) {
    const tag = readTag(at)
    const from = after
    at = skipField(tag, from, end)
    if (tag == LINK_DROPPED_ATTRIBUTES_COUNT) to = writeDropped(to, <u32>readVarint(from))
    else if (tag == LINK_FLAGS) to = writeUnsigned(writeAscii(to, ',"flags":'), load<u32>(from))
  }
  return to
}

/** The member for attributes that the sender has dropped. */
export function writeDropped(to: usize, count: u32): usize {
  return writeUnsigned(writeAscii(to, ',"dropped_attributes":'), count)
}

/** `,"attributes":{…}`; nothing when there is none. */
function writeItemAttributes(to: usize, from: usize, end: usize, tag: u32): usize {
  const start = offsetOf(to)
  to = writeAscii(to, ',"attributes":{')
  const members = offsetOf(to)
  to = writeMembers(to, from, end, tag)
  return offsetOf(to) == members ? placeOf(start) : writeAscii(to, '}')
}
