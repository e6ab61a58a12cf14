import { JSON_NOT_AN_OBJECT, MESSAGE_REQUEST } from '../constants'
import { offsetOf } from '../output'
import { invalidJson, wrongValue } from './host'
import { setUtf8 } from './leaf'
import { clearFrames } from './members'
import { clearDepth, writeFields } from './message'
import { clearProblems, problem, wrong } from './problem'
import { BRACE, bytesLeft, next, readBetween } from './reader'
import { readValue } from './value'

export { writeWithin } from '../output'
export { tableTexts } from '../table-texts'
export { addField } from './field'
export { pointIntoBody } from './pair'
export { prepareEscapes } from './string'

/** The number of the body itself among the fields. */
const BODY: u32 = 0

/**
 * Turns the ExportTraceServiceRequest in OTLP's JSON encoding in [from, end) into the same message
 * in protobuf, which begins at `to`; returns its bytes. What is not JSON, and a value that its
 * field cannot have, is raised by the host.
 */
export function rewrite(from: usize, end: usize, to: usize, isUtf8: bool): usize {
  readBetween(from, end)
  clearFrames()
  clearDepth()
  setUtf8(isUtf8)
  clearProblems()
  if (next() == BRACE) to = writeFields(to, MESSAGE_REQUEST)
  else {
    to = readValue(to)
    wrong(BODY, JSON_NOT_AN_OBJECT)
  }
  next()
  if (bytesLeft() != 0) invalidJson()
  if (problem != 0) wrongValue(problem)
  return offsetOf(to)
}
