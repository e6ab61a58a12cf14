import { ESCAPES } from './json-escapes.ts'

/**
 * JSON escaping, sixteen bytes at a step, as WebAssembly: most of what a model is sent and answers passes through it,
 * and no loop in JavaScript does half as well. It works within one memory, where requests and rows lie.
 */
export interface SimdEscape {
  /** The memory's bytes; both places must lie in them. */
  readonly block: ArrayBuffer
  /**
   * Writes the string in [from, end) to `to` with its escapes, and may write `SPARE_BYTES` more behind them. Answers
   * where it ends; -1 when it holds a U+0000.
   */
  escape(from: number, end: number, to: number): number
  /** Whether the string escaped last may have bytes over 0x7f. */
  hasHighBytes(): boolean
}

/** Bytes that are read and written beyond a string. */
export const SPARE_BYTES = 16
/** What it keeps at the beginning of the memory: letters of escapes, digits, and the last answer's second half. */
export const TABLE_BYTES = 320

const HEX_DIGITS_AT = 256
const HIGH_BITS_AT = HEX_DIGITS_AT + 16
/** `"\u00"`, as a little-endian word without the quotes. */
const UNICODE_ESCAPE = 0x3030755c

const [I32, V128] = [0x7f, 0x7b]
// Parameters and locals, by number.
const [FROM, END, TO, LEFT, MASK, BYTE, LETTER, WORD, SEEN] = [0, 1, 2, 3, 4, 5, 6, 7, 8]
const ADDED_LOCALS = [2, 4, I32, 2, V128]

const unsigned = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)]

function signed(value: number): number[] {
  const isLast = value >= -64 && value < 64
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)]
}

/** Instructions one after the other, as bytes. */
const code = (...parts: (number | number[])[]): number[] => parts.flat()
const get = (local: number): number[] => [0x20, local]
const set = (local: number, value: number[]): number[] => code(value, 0x21, local)
const number = (value: number): number[] => code(0x41, signed(value))
const add = (a: number[], b: number[]): number[] => code(a, b, 0x6a)
const subtract = (a: number[], b: number[]): number[] => code(a, b, 0x6b)
const and = (a: number[], b: number[]): number[] => code(a, b, 0x71)
const shiftLeft = (a: number[], b: number[]): number[] => code(a, b, 0x74)
const shiftRight = (a: number[], b: number[]): number[] => code(a, b, 0x76)
const lowestBit = (a: number[]): number[] => code(a, 0x68)
const isZero = (a: number[]): number[] => code(a, 0x45)
const isEqual = (a: number[], b: number[]): number[] => code(a, b, 0x46)
const isLess = (a: number[], b: number[]): number[] => code(a, b, 0x48)
const byteAt = (place: number[], offset = 0): number[] => code(place, 0x2d, 0, unsigned(offset))
const storeByte = (place: number[], value: number[], offset = 0): number[] =>
  code(place, value, 0x3a, 0, unsigned(offset))
const storeWord = (place: number[], value: number[]): number[] => code(place, value, 0x36, 0, 0)
const when = (condition: number[], then: number[], otherwise: number[] = []): number[] =>
  code(condition, 0x04, 0x40, then, otherwise.length > 0 ? [0x05, ...otherwise] : [], 0x0b)
const answer = (value: number[]): number[] => code(value, 0x0f)

const simd = (operation: number): number[] => code(0xfd, unsigned(operation))
const loadVector = (place: number[]): number[] => code(place, simd(0x00), 0, 0)
const storeVector = (place: number[], value: number[]): number[] =>
  code(place, value, simd(0x0b), 0, 0)
const sixteen = (byte: number): number[] => code(number(byte), simd(0x0f))
const bytesEqual = (a: number[], b: number[]): number[] => code(a, b, simd(0x23))
const bytesBelow = (a: number[], b: number[]): number[] => code(a, b, simd(0x26))
const eitherVector = (a: number[], b: number[]): number[] => code(a, b, simd(0x50))
/** The high bit of each byte, as sixteen bits. */
const highBits = (a: number[]): number[] => code(a, simd(0x64))

const needEscape = highBits(
  eitherVector(
    eitherVector(bytesEqual(get(WORD), sixteen(0x22)), bytesEqual(get(WORD), sixteen(0x5c))),
    bytesBelow(get(WORD), sixteen(0x20)),
  ),
)

const copyBlock = [
  ...set(WORD, loadVector(get(FROM))),
  ...storeVector(get(TO), get(WORD)),
  ...set(SEEN, eitherVector(get(SEEN), get(WORD))),
  ...set(MASK, needEscape),
  // Bytes behind the string do not count.
  ...when(
    isLess(get(LEFT), number(16)),
    set(MASK, and(get(MASK), subtract(shiftLeft(number(1), get(LEFT)), number(1)))),
  ),
]

/** On to the next block, or behind the string. */
const skipBlock = [
  ...when(
    isLess(get(LEFT), number(16)),
    set(TO, add(get(TO), get(LEFT))),
    set(TO, add(get(TO), number(16))),
  ),
  ...set(FROM, add(get(FROM), number(16))),
]

const writeUnicodeEscape = [
  ...when(isZero(get(BYTE)), answer(number(-1))),
  ...storeWord(get(TO), number(UNICODE_ESCAPE)),
  ...storeByte(get(TO), byteAt(shiftRight(get(BYTE), number(4)), HEX_DIGITS_AT), 4),
  ...storeByte(get(TO), byteAt(and(get(BYTE), number(15)), HEX_DIGITS_AT), 5),
  ...set(TO, add(get(TO), number(6))),
]

const writeShortEscape = [
  ...storeByte(get(TO), number(0x5c)),
  ...storeByte(get(TO), get(LETTER), 1),
  ...set(TO, add(get(TO), number(2))),
]

/** Up to the first byte of the block that needs an escape, and that byte. */
const escapeOne = [
  ...set(MASK, lowestBit(get(MASK))),
  ...set(TO, add(get(TO), get(MASK))),
  ...set(FROM, add(add(get(FROM), get(MASK)), number(1))),
  ...set(BYTE, byteAt(subtract(get(FROM), number(1)))),
  ...set(LETTER, byteAt(get(BYTE))),
  ...when(isEqual(get(LETTER), number(1)), writeUnicodeEscape, writeShortEscape),
]

const REPEAT = [0x0c, 1]
const END_BLOCK = 0x0b
const escapeString = code(
  [0x03, 0x40],
  set(LEFT, subtract(get(END), get(FROM))),
  when(
    isLess(number(0), get(LEFT)),
    code(copyBlock, when(isZero(get(MASK)), skipBlock, escapeOne), REPEAT),
  ),
  END_BLOCK,
  storeWord(number(HIGH_BITS_AT), highBits(get(SEEN))),
  get(TO),
  END_BLOCK,
)

const section = (id: number, ...parts: (number | number[])[]): number[] => {
  const content = parts.flat()
  return code(id, unsigned(content.length), content)
}
const name = (text: string): number[] => [text.length, ...Buffer.from(text)]
const body = code(ADDED_LOCALS, escapeString)

const MODULE = Uint8Array.from(
  code(
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, [1, 0x60, 3, I32, I32, I32, 1, I32]),
    section(2, 1, name('m'), name('memory'), [2, 0, 1]),
    section(3, [1, 0]),
    section(7, 1, name('escape'), [0, 0]),
    section(10, 1, unsigned(body.length), body),
  ),
)

/** The part of WebAssembly's interface that is used; the types of Node do not have it. */
interface Wasm {
  Memory: new (size: { initial: number }) => WasmMemory
  Module: new (bytes: Uint8Array) => object
  Instance: new (
    module: object,
    imports: { m: { memory: WasmMemory } },
  ) => { exports: { escape: SimdEscape['escape'] } }
}
interface WasmMemory {
  readonly buffer: ArrayBuffer
}
const { Memory, Module, Instance } = (globalThis as unknown as { WebAssembly: Wasm }).WebAssembly

const PAGE_BYTES = 65_536

/** The function, in a memory of its own with at least `bytes` beside its tables. */
export function createSimdEscape(bytes: number): SimdEscape {
  const initial = Math.ceil((2 * TABLE_BYTES + bytes) / PAGE_BYTES)
  const memory = new Memory({ initial })
  const tables = Buffer.from(memory.buffer, 0, TABLE_BYTES)
  tables.set(ESCAPES)
  tables.write('0123456789abcdef', HEX_DIGITS_AT)
  const { escape } = new Instance(new Module(MODULE), { m: { memory } }).exports
  const hasHighBytes = (): boolean => tables.readUInt16LE(HIGH_BITS_AT) !== 0
  return { block: memory.buffer, escape, hasHighBytes }
}
