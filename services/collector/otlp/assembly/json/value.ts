import { room } from '../output'
import { readNumber } from './digits'
import { BRACE, BRACE_END, BRACKET, BRACKET_END, continues, next, opens } from './reader'
import { QUOTE, readLiteral } from './reader'
import { readName, readString } from './string'

/** Reading any value. */

/** What a value is. */
export const NULL: u32 = 0
export const TRUE: u32 = 1
export const FALSE: u32 = 2
export const TEXT: u32 = 3
export const NUMBER: u32 = 4
export const CONTAINER: u32 = 5

/** What the value that was read last is. */
export let kind: u32 = 0

const LOWER_F: u8 = 0x66
const LOWER_N: u8 = 0x6e
const LOWER_T: u8 = 0x74
/** `true`, `alse`, `null`. */
const LITERAL_TRUE: u32 = 0x65757274
const LITERAL_FALSE: u32 = 0x65736c61
const LITERAL_NULL: u32 = 0x6c6c756e

/** Reads the value here; an object or an array is stepped over. Uses the room behind `to`. */
export function readValue(to: usize): usize {
  const first = next()
  if (first == BRACE || first == BRACKET) {
    to = skipContainer(to)
    kind = CONTAINER
  } else readScalar(first)
  return to
}

function readScalar(first: u8): void {
  switch (first) {
    case QUOTE:
      readString()
      kind = TEXT
      return
    case LOWER_T:
      readLiteral(LITERAL_TRUE, 4)
      kind = TRUE
      return
    case LOWER_F:
      readLiteral(LITERAL_FALSE, 5)
      kind = FALSE
      return
    case LOWER_N:
      readLiteral(LITERAL_NULL, 4)
      kind = NULL
      return
    default:
      kind = readNumber() ? NUMBER : TEXT
  }
}

/** Steps over the object or array here. Behind `to` it keeps what closes each open one. */
function skipContainer(to: usize): usize {
  let depth: usize = 0
  do {
    // A value begins here.
    const first = next()
    if (first != BRACE && first != BRACKET) readScalar(first)
    else {
      const closing = first == BRACE ? BRACE_END : BRACKET_END
      if (opens(closing)) {
        to = room(to + depth, 1) - depth
        store<u8>(to + depth++, closing)
        if (closing == BRACE_END) readName()
        continue
      }
    }
    // A value ends here, and whatever ends with it.
    while (depth > 0 && !continues(load<u8>(to + depth - 1))) depth--
    if (depth > 0 && load<u8>(to + depth - 1) == BRACE_END) readName()
  } while (depth > 0)
  return to
}
