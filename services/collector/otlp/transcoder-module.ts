import { isUtf8 } from 'node:buffer'
import { AppError } from '../../shared/errors.ts'
import { instantiate } from './web-assembly.ts'
import type { SharedBlock } from './web-assembly.ts'
import { MALFORMATIONS } from './problems.ts'
import { MAX_COLUMN_BYTES } from './limits.ts'
import { readSums } from './json-sums.ts'
import { addKinds } from './kind-table.ts'
import type { KindTable } from './kind-table.ts'
import { addPromotedColumns } from './promoted-keys.ts'
import type { RedactionTables } from './redaction-tables.ts'
import type { PromotedTable } from './promoted-keys.ts'
import { SPAN_COLUMNS } from './span-columns.ts'
import { createTextWriter } from './table-texts.ts'
import { WASM } from './wasm.ts'

/** A number that the module exports: one that never changes, or a variable. */
interface Exported {
  readonly value: number
}

/**
 * What `assembly/` is compiled to. It reads requests and writes rows, both in one block of memory;
 * places are counted from the beginning of the block.
 */
export interface TranscoderModule extends PromotedTable, KindTable, RedactionTables {
  setRowColumns(count: number): void
  /** The room for the texts of the tables. */
  readonly tableTexts: Exported
  /** Sets the organization of the next rows: the UTF-8 in `organization`; 0 bytes for none. */
  setOrganization(size: number): void
  readonly organization: Exported
  /** Sets the value of a promoted column of the span at hand; see `SetValue`. */
  setNumber(column: number, rank: number, value: number): void
  /** The same of a text whose bytes are in the place of the column in `ownTexts`. */
  setText(column: number, rank: number, size: number): void
  readonly ownTexts: Exported
  /** Spans that start outside are refused; microseconds since 2000. */
  setWindow(oldest: number, newest: number): void
  /** Sets the place of the rows. */
  writeWithin(from: number, end: number): void
  /**
   * Turns the message in [from, end) into rows at `to`; returns how many bytes of rows there are.
   * One that was rewritten from JSON may point to texts in that.
   */
  readRequest(from: number, end: number, ...[to, isRewritten]: [number, number]): number
  /** Places for the ids of the resource and the scope of the next spans. */
  readonly resourceId: Exported
  readonly scopeId: Exported
  /** Places of the offsets (32 bits) and the start times (doubles) of new rows. */
  readonly notedOffsets: Exported
  readonly notedStarts: Exported
  // Of the request that was read last; `Transcript` says what they count.
  readonly spans: Exported
  readonly rows: Exported
  readonly duplicateKeys: Exported
  readonly droppedAttributes: Exported
  readonly droppedItems: Exported
  truncated(): number
}

/** The requests of the module to the transcoder that uses it. */
interface RequestHost {
  enlarge(used: number, size: number): void
  /** Of rows whose offsets and start times lie in `notedOffsets` and `notedStarts`. */
  noteRows(count: number): void
  /** Of `REFUSALS`, counted from 1. */
  noteRefusal(reason: number): void
  takeResource(from: number, end: number): void
  takeScope(from: number, end: number): void
  keepResource(): void
  keepScope(): void
  /** Returns where the mark ends. */
  writeMark(to: number, kind: number, from: number, end: number): number
}

/** The module, in a block of which it keeps the beginning to itself. */
export function createTranscoderModule(block: SharedBlock, request: RequestHost): TranscoderModule {
  const bytes = Buffer.from(block.buffer)
  const readDocument = (document: number, from: number, ...rest: [number, number]): void => {
    const [end, isEscaped] = rest
    const text = bytes.toString('utf8', from, end)
    const json = isEscaped === 1 ? (JSON.parse(`"${text}"`) as string) : text
    readSums(document, json, (column, rank, value) => {
      if (typeof value === 'number') return module.setNumber(column, rank, value)
      const size = Buffer.byteLength(value)
      if (size > MAX_COLUMN_BYTES) return
      bytes.write(value, module.ownTexts.value + column * MAX_COLUMN_BYTES)
      module.setText(column, rank, size)
    })
  }
  const host = { ...request, ...createTextHost(bytes), malformed: raiseMalformed, readDocument }
  // The compiler of AssemblyScript checks the module's side, and any test that reads a request
  // this.
  const module = instantiate(Buffer.from(WASM, 'base64'), block, host) as TranscoderModule
  const write = createTextWriter(bytes, module.tableTexts.value)
  module.setRowColumns(SPAN_COLUMNS.length)
  addPromotedColumns(module, write)
  addKinds(module, write)
  return module
}

const PROBLEMS = Object.values(MALFORMATIONS)

function raiseMalformed(problem: number): never {
  throw new AppError(
    'invalid_request',
    `The body is not a valid ExportTraceServiceRequest: ${PROBLEMS[problem]}.`,
  )
}

const REPLACEMENT = '\ufffd'
/** No number of an attribute is longer. */
const NUMBER_CHARS = 32

/** Functions for what is rare, or better done by Node. */
function createTextHost(bytes: Buffer) {
  const repaired = (from: number, end: number): string =>
    bytes.toString('utf8', from, end).replaceAll('\0', REPLACEMENT)
  return {
    isUtf8: (from: number, end: number) => isUtf8(bytes.subarray(from, end)),
    parseNumber(from: number, end: number): number {
      const text = bytes.toString('latin1', from, Math.min(end, from + NUMBER_CHARS))
      return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
    },
    writeDouble: (value: number, to: number) => to + bytes.write(doubleAsJson(value), to, 'latin1'),
    writeRepaired: (from: number, end: number, to: number) =>
      to + bytes.write(repaired(from, end), to),
    writeRepairedJson: (from: number, end: number, to: number) =>
      to + bytes.write(JSON.stringify(repaired(from, end)).slice(1, -1), to),
    writeBase64: (from: number, end: number, to: number) =>
      to + bytes.write(bytes.toString('base64', from, end), to, 'latin1'),
  }
}

/**
 * JSON has no NaN and no infinities, so they are strings. A whole number keeps a fraction, as in
 * `3.0`.
 */
export function doubleAsJson(value: number): string {
  if (!Number.isFinite(value)) return `"${value}"`
  const digits = Object.is(value, -0) ? '-0' : String(value)
  const isWhole = Number.isInteger(value) && !digits.includes('e')
  return isWhole ? `${digits}.0` : digits
}
