import { isUtf8 } from 'node:buffer'
import { ALL_KEYS, COUNT_COLUMNS, hashKey, isLlmOperation } from './attribute-keys.ts'
import { NUMBER_COLUMNS, OPERATION, TEXT_COLUMNS } from './attribute-keys.ts'
import { ESCAPES } from './json-escapes.ts'
import { doubleAsJson } from './json-number.ts'
import { SPAN_COLUMNS } from './span-columns.ts'
import { WASM } from './wasm.ts'

/**
 * The part of the transcoder that is compiled from `assembly/` to WebAssembly: spans as most are take a third of the time
 * there. It works within one memory, where requests and rows lie; places are counted from its beginning.
 */
export interface Accelerator {
  /** The memory's bytes. */
  readonly block: ArrayBuffer
  /**
   * Writes the string in [from, end) to `to` with its escapes, and may write `SPARE_BYTES` more behind them. Answers
   * where it ends; 0 when it holds a U+0000.
   */
  escape(from: number, end: number, to: number): number
  /** Whether the string escaped last has bytes over 0x7f. */
  hasHighBytes(): number
  /** Which spans are ordinary: those that start within; microseconds since 2000. */
  setWindow(oldest: number, newest: number): void
  /** What the next rows refer to, by the two halves of their ids. */
  setResource(high: number, low: number): void
  setScope(high: number, low: number): void
  /**
   * Writes the Span message in [from, end) as a row to `to`, in at most `rowBytesMax` bytes. Answers where the row ends;
   * 0 when the span is not an ordinary one, and may even be wrong.
   */
  writeSpan(from: number, end: number, to: number): number
  /** When the span written last starts; microseconds since 2000. */
  startTime(): number
}

/** Bytes that are read and written beyond a string. */
export const SPARE_BYTES = 16
/** What the module keeps to itself at the beginning of the memory. */
export const RESERVED_BYTES = 16_384

/** Room for the row of a message of `size` bytes, whatever is in it. */
export const rowBytesMax = (size: number): number => 7 * size + 1024

interface Exports extends Omit<Accelerator, 'block' | 'startTime'> {
  setColumns(all: number, counts: number, numbers: number, texts: number, operation: number): void
  readonly KEY_SLOTS: Constant
  readonly KEYS_MAX: Constant
  readonly KEY_TEXT_BYTES: Constant
  readonly PROMOTED_MAX: Constant
  // Places.
  readonly escapes: Constant
  readonly hexDigits: Constant
  readonly keySlots: Constant
  readonly keyEntries: Constant
  readonly keyTexts: Constant
  readonly startTime: Constant
}
interface Constant {
  readonly value: number
}
interface Host {
  isUtf8(from: number, end: number): boolean
  isLlmOperation(from: number, end: number): boolean
  writeDouble(value: number, to: number): number
}

/** The part of WebAssembly's interface that is used; the types of Node do not have it. */
interface WebAssemblyApi {
  Memory: new (size: { initial: number }) => SharedMemory
  Module: new (bytes: Uint8Array) => object
  Instance: new (
    module: object,
    imports: { env: { memory: SharedMemory }; host: Host },
  ) => { exports: Exports }
}
interface SharedMemory {
  readonly buffer: ArrayBuffer
}
const { Memory, Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyApi })
  .WebAssembly

const PAGE_BYTES = 65_536

/** The module, in a memory of its own with at least `bytes` beside what it keeps to itself. */
export function createAccelerator(bytes: number): Accelerator {
  // Blocks are read, and spans scanned, a little beyond their ends.
  const memory = new Memory({ initial: Math.ceil((2 * RESERVED_BYTES + bytes) / PAGE_BYTES) })
  const all = Buffer.from(memory.buffer)
  const module = new Module(Buffer.from(WASM, 'base64'))
  const { exports } = new Instance(module, { env: { memory }, host: createHost(all) })
  fillTables(all, exports)
  const startTime = new Float64Array(memory.buffer, exports.startTime.value, 1)
  const { escape, hasHighBytes, setWindow, setResource, setScope, writeSpan } = exports
  return {
    block: memory.buffer,
    escape,
    hasHighBytes,
    setWindow,
    setResource,
    setScope,
    writeSpan,
    startTime: () => startTime[0] ?? 0,
  }
}

const createHost = (all: Buffer): Host => ({
  isUtf8: (from, end) => isUtf8(all.subarray(from, end)),
  isLlmOperation: (from, end) => isLlmOperation(all.toString('latin1', from, end)),
  writeDouble: (value, to) => to + all.write(doubleAsJson(value), to, 'latin1'),
})

function fillTables(all: Buffer, exports: Exports): void {
  all.set(ESCAPES, exports.escapes.value)
  all.write('0123456789abcdef', exports.hexDigits.value)
  const [counts, numbers, texts] = [COUNT_COLUMNS, NUMBER_COLUMNS, TEXT_COLUMNS]
  exports.setColumns(SPAN_COLUMNS.length, counts.length, numbers.length, texts.length, OPERATION)
  checkRoom(exports)
  const addKey = createKeyTable(all, exports)
  for (const [column, keys] of ALL_KEYS.entries()) {
    for (const [rank, key] of keys.entries()) addKey(Buffer.from(key), column | (rank << 16))
  }
}

function checkRoom({ KEYS_MAX, KEY_TEXT_BYTES, PROMOTED_MAX }: Exports): void {
  const keys = ALL_KEYS.flat()
  const isEnough =
    keys.length <= KEYS_MAX.value &&
    keys.join('').length <= KEY_TEXT_BYTES.value &&
    ALL_KEYS.length <= PROMOTED_MAX.value
  if (!isEnough) throw new Error('assembly/state.ts has no room for all keys of promoted columns.')
}

/** Answers a function that adds a key, with its column and rank, to the table by which the module finds it. */
function createKeyTable(all: Buffer, { KEY_SLOTS, keySlots, keyEntries, keyTexts }: Exports) {
  let count = 0
  let entry = keyEntries.value
  let text = 0
  return function addKey(key: Buffer, columnAndRank: number): void {
    const hash = hashKey(new DataView(key.buffer, key.byteOffset, key.length), 0, key.length)
    for (const word of [hash, key.length, text, columnAndRank])
      entry = all.writeInt32LE(word, entry)
    text += key.copy(all, keyTexts.value + text)
    let slot = hash % KEY_SLOTS.value
    while (all[keySlots.value + slot] !== 0) slot = (slot + 1) % KEY_SLOTS.value
    all[keySlots.value + slot] = ++count
  }
}
