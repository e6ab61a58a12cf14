import { damagedTar } from './damaged-tar.ts'

/** The size of a header, and the unit of contents. */
export const BLOCK_BYTES = 512

/** A header of a tar archive. */
export interface TarHeader {
  readonly path: Buffer
  /** One character, as POSIX numbers them. */
  readonly type: string
  readonly size: number
  readonly mode: number
}

const CHECKSUM_AT = 148
const TYPE_AT = 156
const MAGIC_AT = 257

/** Reads a header. Raises `invalid_request` when its sum is wrong, or a number is none. */
export function readHeader(block: Buffer): TarHeader {
  if (readNumber(block, { at: CHECKSUM_AT, length: 8 }) !== checksumOf(block)) {
    throw damagedTar('it has a header whose checksum is wrong')
  }
  const name = text(block, { at: 0, length: 100 })
  const prefix = isPosix(block) ? text(block, { at: 345, length: 155 }) : Buffer.alloc(0)
  return {
    path: prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name,
    type: String.fromCharCode(block[TYPE_AT] ?? 0),
    size: readNumber(block, { at: 124, length: 12 }),
    mode: readNumber(block, { at: 100, length: 8 }),
  }
}

/** In archives of GNU tar, another field is in the place of the prefix. */
const isPosix = (block: Buffer): boolean =>
  block.toString('latin1', MAGIC_AT, MAGIC_AT + 6) === 'ustar\0'

interface Field {
  readonly at: number
  readonly length: number
}

function text(block: Buffer, { at, length }: Field): Buffer {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  return end < 0 ? field : field.subarray(0, end)
}

/** In octal digits; what does not fit is a binary number whose first bit is set. */
function readNumber(block: Buffer, { at, length }: Field): number {
  const field = block.subarray(at, at + length)
  if (((field[0] ?? 0) & 0x80) !== 0) {
    const high = field.subarray(1, length - 6).some((byte) => byte !== 0)
    if (high || field[0] !== 0x80) throw damagedTar('it has a number that is too large')
    return field.readUIntBE(length - 6, 6)
  }
  const digits = field.toString('latin1').replace(/^[ \0]+|[ \0][^]*$/g, '')
  if (!/^[0-7]*$/.test(digits))
    throw damagedTar('it has a header with something else than a number')
  return digits === '' ? 0 : Number.parseInt(digits, 8)
}

/** The sum of the bytes, where those of the sum itself count as spaces. */
function checksumOf(block: Buffer): number {
  let sum = 8 * 0x20
  for (let index = 0; index < BLOCK_BYTES; index += 1) {
    if (index < CHECKSUM_AT || index >= CHECKSUM_AT + 8) sum += block[index] ?? 0
  }
  return sum
}

/** Creates the header of a plain file or a pax block, of nobody and of no time. */
export function writeHeader({ path, type, size, mode }: TarHeader): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES)
  const octal = (value: number, { at, length }: Field): void => {
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1')
  }
  path.copy(block, 0, 0, 100)
  octal(mode, { at: 100, length: 8 })
  octal(0, { at: 108, length: 8 })
  octal(0, { at: 116, length: 8 })
  octal(size, { at: 124, length: 12 })
  octal(0, { at: 136, length: 12 })
  block.write(type, TYPE_AT, 'latin1')
  block.write('ustar\x0000', MAGIC_AT, 'latin1')
  block.write(`${checksumOf(block).toString(8).padStart(6, '0')}\0 `, CHECKSUM_AT, 'latin1')
  return block
}
