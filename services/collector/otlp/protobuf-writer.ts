/** Protobuf fields as bytes, for the small and the rare: error bodies, and requests that came as JSON. */

const VARINT = 0
const FIXED_64 = 1
const BYTES = 2
const FIXED_32 = 5

const EMPTY = Buffer.alloc(0)

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}

const tag = (field: number, type: number): Buffer => varint(BigInt((field << 3) | type))

/** A field of bytes, a string or a message; empty ones are written too. */
export function bytesField(field: number, value: Buffer | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  return Buffer.concat([tag(field, BYTES), varint(BigInt(bytes.length)), bytes])
}

/** An int64, uint64, enum or bool; nothing for 0, the default. */
export function varintField(field: number, value: bigint): Buffer {
  return value === 0n ? EMPTY : explicitVarintField(field, value)
}

/** The same, but 0 is written: within a oneof it is not the default. */
export function explicitVarintField(field: number, value: bigint): Buffer {
  return Buffer.concat([tag(field, VARINT), varint(value)])
}

export function doubleField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return Buffer.concat([tag(field, FIXED_64), bytes])
}

/** A fixed64; nothing for 0. */
export function fixed64Field(field: number, value: bigint): Buffer {
  if (value === 0n) return EMPTY
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return Buffer.concat([tag(field, FIXED_64), bytes])
}

/** A fixed32; nothing for 0. */
export function fixed32Field(field: number, value: number): Buffer {
  if (value === 0) return EMPTY
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return Buffer.concat([tag(field, FIXED_32), bytes])
}
