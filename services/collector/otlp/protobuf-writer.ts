/**
 * Protobuf written from its end to its beginning: the length of a message is known by the time its
 * head is written, so nothing is written twice. Fields are therefore given in reverse order.
 */
export interface ProtobufWriter {
  bytes: Buffer
  /** The place where what is written begins; it reaches to the end of `bytes`. */
  from: number
}

const USUAL_BYTES = 256

/** The message whose fields `write` gives. */
export function protobufMessage(write: (to: ProtobufWriter) => void): Buffer {
  const to = { bytes: Buffer.alloc(USUAL_BYTES), from: USUAL_BYTES }
  write(to)
  return to.bytes.subarray(to.from)
}

/** Makes room for `size` more bytes, and takes it; returns where it begins. */
function reserve(to: ProtobufWriter, size: number): number {
  if (size > to.from) {
    const more = to.bytes.length + size
    to.bytes = Buffer.concat([Buffer.alloc(more), to.bytes])
    to.from += more
  }
  to.from -= size
  return to.from
}

function varint(to: ProtobufWriter, value: number): void {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  let at = reserve(to, size)
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) to.bytes[at++] = (rest % 0x80) | 0x80
  to.bytes[at] = rest
}

/** A field of a message, whose own fields `write` gives; empty ones are written too. */
export function messageField(to: ProtobufWriter, tag: number, write: () => void): void {
  const written = to.bytes.length - to.from
  write()
  varint(to, to.bytes.length - to.from - written)
  varint(to, tag)
}

/** A field of a string; empty ones are written too. */
export function bytesField(to: ProtobufWriter, tag: number, value: string): void {
  messageField(to, tag, () => {
    // To make room may replace `to.bytes`.
    const at = reserve(to, Buffer.byteLength(value))
    to.bytes.write(value, at)
  })
}

/** A number that is not negative; 0 is written too. */
export function varintField(to: ProtobufWriter, tag: number, value: number): void {
  varint(to, value)
  varint(to, tag)
}
