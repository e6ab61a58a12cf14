import { FORM_LIST, FORM_MESSAGE, FORM_NESTED, JSON_NOT_AN_ARRAY } from '../constants'
import { JSON_NOT_AN_OBJECT, MAX_DEPTH, MESSAGE_ANY_VALUE, MESSAGE_KEY_VALUE } from '../constants'
import { MESSAGE_LINK, MESSAGE_RESOURCE_SPANS, MESSAGE_SCOPE_SPANS } from '../constants'
import { MESSAGE_SPAN, SPAN_STATUS, STATUS_CODE } from '../constants'
import { hasRoom, offsetOf } from '../output'
import { beginningOf, detailOf, fieldsOf, formOf, placeAmong, readField } from './field'
import { tagOf } from './field'
import { isUtf8, writeLeaf } from './leaf'
import { closeFrame, keepOne, keptProblem, lastProblem, noteField, noteTurn } from './members'
import { openFrame, slotIn, sort, takeBack } from './members'
import { writePair } from './pair'
import { isAnyWrong, problem, setProblem, wrong } from './problem'
import { beginMessage, endMessage, varintSize } from './protobuf'
import { at, BRACE, BRACE_END, BRACKET, BRACKET_END, bytesLeft, continues } from './reader'
import { next, opens, readOn } from './reader'
import { kind, NULL, readValue } from './value'

/** Objects as messages. */

/** The arrays and maps around the value at hand. */
let depth: u32 = 0

/** Begins with another body. */
export function clearDepth(): void {
  depth = 0
}

/** The fields of the message that the object here is. */
export function writeFields(to: usize, message: u32): usize {
  const start = offsetOf(to)
  const frame = openFrame(fieldsOf(message))
  // Of the fields, a bit for each; and how many there are.
  let given: u32 = 0
  let turn: u32 = 0
  let before = beginningOf(message)
  if (opens(BRACE_END)) {
    do {
      const field = readField(message, before)
      if (field == 0) {
        to = readValue(to)
        continue
      }
      before = field
      const place = placeAmong(field)
      const slot = slotIn(frame, place)
      if ((given & (1 << place)) != 0) to = takeBack(to, frame, place, given)
      else noteTurn(slot, turn++)
      given |= 1 << place
      const from = offsetOf(to)
      setProblem(0)
      to = writeField(to, field)
      noteField(slot, from, to, problem)
    } while (continues(BRACE_END))
  }
  closeFrame(frame)
  if (message == MESSAGE_ANY_VALUE && turn > 1) {
    to = keepOne(to, start, frame, given)
    setProblem(keptProblem)
    return to
  }
  if (isAnyWrong) setProblem(lastProblem(frame, given))
  // The rows keep the order of a link's fields.
  return message == MESSAGE_LINK ? sort(to, start, frame, given) : to
}

function writeField(to: usize, field: u32): usize {
  switch (formOf(field)) {
    case FORM_LIST:
      return writeList(to, field)
    case FORM_MESSAGE:
      return writeObject(to, field)
    case FORM_NESTED:
      return writeNested(to, field)
    default:
      return writeLeaf(to, field)
  }
}

function writeList(to: usize, field: u32): usize {
  if (next() != BRACKET) return readOther(to, field, JSON_NOT_AN_ARRAY)
  let last: u32 = 0
  if (opens(BRACKET_END)) {
    do {
      setProblem(0)
      if (next() == BRACE) to = writeItem(to, field)
      else {
        to = readValue(to)
        wrong(field, JSON_NOT_AN_OBJECT)
      }
      if (problem != 0) last = problem
    } while (continues(BRACKET_END))
  }
  setProblem(last)
  return to
}

function writeItem(to: usize, field: u32): usize {
  const isPair = detailOf(field) == MESSAGE_KEY_VALUE && isUtf8
  const stop = isPair ? writePair(to, tagOf(field), depth > 0) : 0
  return stop == 0 ? writeMessage(to, field) : stop
}

function writeObject(to: usize, field: u32): usize {
  const stop = tagOf(field) == SPAN_STATUS ? writeShortStatus(to) : 0
  if (stop != 0) return stop
  return next() == BRACE ? writeMessage(to, field) : readOther(to, field, JSON_NOT_AN_OBJECT)
}

/** An array or a map. One that is deeper than any reader takes need not be written out. */
function writeNested(to: usize, field: u32): usize {
  depth++
  if (depth <= MAX_DEPTH + 1) to = writeObject(to, field)
  else {
    to = readValue(to)
    if (kind != NULL) {
      to = beginMessage(to, tagOf(field), 1)
      to = endMessage(to, offsetOf(to), 1)
    }
  }
  depth--
  return to
}

/** Null is an absent field; anything else is wrong here. */
function readOther(to: usize, field: u32, reason: u32): usize {
  to = readValue(to)
  if (kind != NULL) wrong(field, reason)
  return to
}

/** `{"code":` */
const CODE: u64 = 0x3a2265646f63227b
/** With a digit and the end. */
const CODE_BYTES: usize = 10
const ZERO: u32 = 0x30

/** A status that is a code of one digit; returns 0, and reads nothing, for any other. */
function writeShortStatus(to: usize): usize {
  const digit = <u32>load<u8>(at, 8) - ZERO
  if (load<u64>(at) != CODE || load<u8>(at, 9) != BRACE_END || bytesLeft() < CODE_BYTES) return 0
  if (digit == 0 || digit > 9 || !hasRoom(to, 4)) return 0
  store<u32>(to, SPAN_STATUS | (2 << 8) | (STATUS_CODE << 16) | (digit << 24))
  readOn(at + CODE_BYTES)
  return to + 4
}

/** The object here as a message. */
function writeMessage(to: usize, field: u32): usize {
  const message = detailOf(field)
  const lengthBytes = usualLengthBytes(message)
  to = beginMessage(to, tagOf(field), lengthBytes)
  const start = offsetOf(to)
  to = writeFields(to, message)
  return endMessage(to, start, lengthBytes)
}

/** How long the length of a message usually is: another one moves what it holds. */
function usualLengthBytes(message: u32): usize {
  if (message == MESSAGE_SPAN) return 2
  const isLong = message == MESSAGE_RESOURCE_SPANS || message == MESSAGE_SCOPE_SPANS
  return isLong ? varintSize(bytesLeft()) : 1
}
