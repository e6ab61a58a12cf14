import { MAX_JSON_FIELDS, MAX_JSON_MESSAGES } from '../constants'
import { hashText, isSameText, takeText } from '../table-texts'
import { isEscaped, readName, skipText, textEnd, textFrom } from './string'
import { unescapeTo } from './text'

/** The fields of the messages, which the host adds at its start, and how they are found. */

const SLOTS: u32 = 256
/** By hash of message and name: the number of the field, 0 for none. */
const slots: usize = memory.data(SLOTS, 16)
/** Place and size of the name, tag; message, form, detail, and place among the message's. */
const entries: usize = memory.data(MAX_JSON_FIELDS * 16, 16)
/** How many fields a message has. */
const counts: usize = memory.data(MAX_JSON_MESSAGES, 16)

let count: u32 = 0

/**
 * Adds a field of `message`, whose name was written last, with quotes and a colon, behind those
 * with smaller tags. The detail is the message that it holds, or the bytes of an id.
 */
export function addField(message: u32, written: usize, tag: u32, form: u32, detail: u32): void {
  const size = written - 3
  const name = takeText(written) + 1
  const entry = entryOf(++count)
  store<u32>(entry, <u32>name)
  store<u16>(entry, <u16>size, 4)
  store<u16>(entry, <u16>tag, 6)
  store<u8>(entry, <u8>message, 8)
  store<u8>(entry, <u8>form, 9)
  store<u8>(entry, <u8>detail, 10)
  const place = fieldsOf(message)
  store<u8>(entry, <u8>place, 11)
  store<u8>(counts + message, <u8>(place + 1))
  let slot = slotOf(message, name, name + size)
  while (load<u8>(slots + slot) != 0) slot = (slot + 1) % SLOTS
  store<u8>(slots + slot, <u8>count)
}

@inline
function entryOf(field: u32): usize {
  return entries + ((<usize>field - 1) << 4)
}

@inline
function slotOf(message: u32, from: usize, end: usize): u32 {
  return (hashText(from, end) + message * 37) % SLOTS
}

/** Which field came last behind another one, or first in a message: senders keep to an order. */
const followers: usize = memory.data(MAX_JSON_FIELDS + 1 + MAX_JSON_MESSAGES, 16)

/** What stands before the first field of a message. */
@inline
export function beginningOf(message: u32): u32 {
  return MAX_JSON_FIELDS + 1 + message
}

/** Reads a name, and the colon behind it; returns its field of the message, 0 for none. */
export function readField(message: u32, before: u32): u32 {
  const guess = <u32>load<u8>(followers + before)
  if (guess != 0 && skipText(nameOf(guess) - 1, sizeOf(guess) + 3)) return guess
  readName()
  const field = findField(message)
  store<u8>(followers + before, <u8>field)
  return field
}

/** With an escape for each of its letters, no name of a field is longer. */
const MAX_NAME_BYTES: usize = 192
const unescaped: usize = memory.data(<i32>MAX_NAME_BYTES + 16, 16)

/** The field of the message that has the string read last as its name; 0 for none. */
function findField(message: u32): u32 {
  if (isEscaped) {
    if (textEnd - textFrom > MAX_NAME_BYTES) return 0
    unescapeTo(unescaped)
  }
  let slot = slotOf(message, textFrom, textEnd)
  for (let field = fieldIn(slot); field != 0; field = fieldIn(slot)) {
    const name = nameOf(field)
    const isMessage = load<u8>(entryOf(field), 8) == message
    if (isMessage && isSameText(textFrom, textEnd, name, name + sizeOf(field))) return field
    slot = (slot + 1) % SLOTS
  }
  return 0
}

@inline
function fieldIn(slot: u32): u32 {
  return <u32>load<u8>(slots + slot)
}

@inline
function nameOf(field: u32): usize {
  return <usize>load<u32>(entryOf(field))
}

@inline
function sizeOf(field: u32): usize {
  return <usize>load<u16>(entryOf(field), 4)
}

/** How many fields the message has. */
@inline
export function fieldsOf(message: u32): u32 {
  return <u32>load<u8>(counts + message)
}

/** The tag of a field. */
@inline
export function tagOf(field: u32): u32 {
  return <u32>load<u16>(entryOf(field), 6)
}

/** How its values are written. */
@inline
export function formOf(field: u32): u32 {
  return <u32>load<u8>(entryOf(field), 9)
}

/** The message that it holds, or the bytes of an id. */
@inline
export function detailOf(field: u32): u32 {
  return <u32>load<u8>(entryOf(field), 10)
}

/** Its place among the fields of its message, by their tags. */
@inline
export function placeAmong(field: u32): u32 {
  return <u32>load<u8>(entryOf(field), 11)
}
