import { AppError } from '../../../../services/shared/errors.ts'
import { enlarge, HEAP } from '../../../../services/collector/otlp/memory.ts'
import type { Allocator } from '../../../../services/collector/otlp/memory.ts'

/**
 * Where the transcoder reads and where it writes. One object passes through all its functions
 * instead of objects per message: the hot path allocates nothing per span.
 */
export interface Tape {
  /** The protobuf bytes of a request, and the place of the next byte to read. */
  src: Buffer
  srcView: DataView
  at: number
  /** The rows, and the place of the next byte to write. */
  out: Buffer
  outView: DataView
  to: number
  /** Where more memory for the rows comes from. */
  memory: Allocator
  /** The last three bits of the varint that was read last: of a tag, its wire type. */
  wireType: number
  /** The tag of the span field being read. */
  tag: number
  /**
   * Where the last scanned KeyValue has its key and its value; `valueFrom` is -1 when it has none.
   */
  keyFrom: number
  keyEnd: number
  valueFrom: number
  valueEnd: number
  /** How deep in arrays and maps the value being written lies. */
  depth: number
  /** Strings cut to the length limit. */
  truncated: number
  /** Set by a writer that met a value nested too deeply; the span is refused. */
  tooDeep: boolean
}

const EMPTY = Buffer.alloc(0)

const viewOf = (bytes: Buffer): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

export function createTape(): Tape {
  const view = viewOf(EMPTY)
  return {
    src: EMPTY,
    srcView: view,
    at: 0,
    wireType: 0,
    out: EMPTY,
    outView: view,
    to: 0,
    memory: HEAP,
    tag: 0,
    keyFrom: 0,
    keyEnd: 0,
    valueFrom: -1,
    valueEnd: -1,
    depth: 0,
    truncated: 0,
    tooDeep: false,
  }
}

/** Reads from `bytes` next. */
export function readFrom(tape: Tape, bytes: Buffer): void {
  tape.src = bytes
  tape.srcView = viewOf(bytes)
  tape.at = 0
}

/** Writes to `bytes` next, from `to` on. */
export function writeTo(tape: Tape, bytes: Buffer, to: number): void {
  tape.out = bytes
  tape.outView = viewOf(bytes)
  tape.to = to
}

/** Lets go of the buffers of a finished request. */
export function release(tape: Tape): void {
  readFrom(tape, EMPTY)
  writeTo(tape, EMPTY, 0)
}

/** Makes room for `size` more bytes. Every writer asks for its own worst case before it writes. */
export function reserve(tape: Tape, size: number): void {
  if (tape.to + size > tape.out.length) grow(tape, size)
}

const GROWTH = 1.25

function grow(tape: Tape, size: number): void {
  const needed = Math.max(tape.to + size, Math.ceil(tape.to * GROWTH))
  writeTo(tape, enlarge(tape.memory, tape.out, { used: tape.to, size: needed }), tape.to)
}

/** Raises `invalid_request`: the body is not a protobuf message. */
export function malformed(what: string): never {
  throw new AppError(
    'invalid_request',
    `The body is not a valid ExportTraceServiceRequest: ${what}.`,
  )
}

/**
 * The byte at `at`. Past the end it is 0, which ends a varint; the caller's check of the message's
 * end then fails.
 */
export const byteAt = (bytes: Buffer, at: number): number => bytes[at] ?? 0

const TWO_7 = 128
const VARINT_BYTES = 10

/**
 * A varint: exact up to 2^53, rounded above, which is enough for tags, lengths and small numbers.
 */
export function readVarint(tape: Tape): number {
  const { src } = tape
  const first = byteAt(src, tape.at++)
  tape.wireType = first & 7
  if (first < 0x80) return first
  let value = first & 0x7f
  let scale = TWO_7
  for (let i = 1; i < VARINT_BYTES; i++) {
    const byte = byteAt(src, tape.at++)
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return value
    scale *= TWO_7
  }
  return malformed('a varint has more than ten bytes')
}

/** Reads the length of a field and returns where it ends; the field lies within `end`. */
export function readEnd(tape: Tape, end: number): number {
  const length = readVarint(tape)
  const stop = tape.at + length
  if (stop > end) malformed('a field is longer than the message around it')
  return stop
}

/** Skips a field of unknown number. */
export function skipField(tape: Tape, tag: number, end: number): void {
  // A tag beyond 2^53 was rounded.
  const wireType = tag <= Number.MAX_SAFE_INTEGER ? tag & 7 : tape.wireType
  switch (wireType) {
    case 0:
      readVarint(tape)
      return
    case 1:
      tape.at += 8
      return
    case 2:
      tape.at = readEnd(tape, end)
      return
    case 5:
      tape.at += 4
      return
    default:
      malformed(`wire type ${wireType} is not in use`)
  }
}

/** A message was read to its end, neither short of it nor beyond. */
export function checkEnd(tape: Tape, end: number): void {
  if (tape.at !== end) malformed('a message does not end where its length says')
}
