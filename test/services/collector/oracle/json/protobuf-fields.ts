import { varint } from '../../support/otlp.ts'

/** A message as its parts, from the last to the first: fields are given in reverse order. */
export interface Parts {
  parts: Buffer[]
}

/** The message whose fields `write` gives. */
export function protobufMessage(write: (to: Parts) => void): Buffer {
  const to: Parts = { parts: [] }
  write(to)
  return Buffer.concat(to.parts.toReversed())
}

/** A field of a message, whose own fields `write` gives; empty ones are written too. */
export function messageField(to: Parts, tag: number, write: () => void): void {
  const { parts } = to
  to.parts = []
  write()
  const content = Buffer.concat(to.parts.toReversed())
  to.parts = parts
  parts.push(content, varint(content.length), varint(tag))
}

/** A field of bytes or a string; empty ones are written too. */
export function bytesField(to: Parts, tag: number, value: Buffer | string): void {
  messageField(to, tag, () => to.parts.push(Buffer.from(value)))
}

/** An int64, uint64, enum or bool; nothing for 0, the default. */
export function varintField(to: Parts, tag: number, value: number | bigint): void {
  if (Number(value) !== 0) explicitVarintField(to, tag, value)
}

/** The same, but 0 is written: within a oneof it is not the default. */
export function explicitVarintField(to: Parts, tag: number, value: number | bigint): void {
  to.parts.push(varint(value), varint(tag))
}

/** A double; 0 is written too, as within a oneof it is not the default. */
export function doubleField(to: Parts, tag: number, value: number): void {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  to.parts.push(bytes, varint(tag))
}

/** A fixed64; nothing for 0. */
export function fixed64Field(to: Parts, tag: number, value: bigint): void {
  if (value === 0n) return
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  to.parts.push(bytes, varint(tag))
}

/** A fixed32; nothing for 0. */
export function fixed32Field(to: Parts, tag: number, value: number): void {
  if (value === 0) return
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  to.parts.push(bytes, varint(tag))
}
