import { isUtf8 } from 'node:buffer'
import { AppError } from '../../shared/errors.ts'
import { enlarge } from './memory.ts'
import type { Memory } from './memory.ts'
import { instantiate } from './web-assembly.ts'
import { addJsonFields } from './json-fields.ts'
import type { FieldTable } from './json-fields.ts'
import { JSON_WASM } from './json-wasm.ts'
import { JSON_PROBLEMS } from './problems.ts'
import { createTextWriter } from './table-texts.ts'

/** What `assembly/json` is compiled to; places are counted from the beginning of the block. */
interface JsonModule extends FieldTable {
  /** Fills a table. */
  prepareEscapes(): void
  /** Lets long texts stay in the body. */
  pointIntoBody(): void
  /** The room for the names of the fields. */
  readonly tableTexts: { readonly value: number }
  /** Sets the place of the protobuf. */
  writeWithin(from: number, end: number): void
  /** Turns the JSON in [from, end) into protobuf at `to`; returns how many bytes that has. */
  rewrite(from: number, end: number, ...[to, isUtf8]: [number, number]): number
}

/** Writes a body in OTLP's JSON encoding as the same message in protobuf. */
type RewriteJson = (body: Buffer) => Buffer

/** How a message is written. */
interface RewriterOptions {
  /**
   * Long texts are not copied: what is written says where they lie in the body. Only the transcoder
   * reads that.
   */
  readonly pointsIntoBody: boolean
}

/**
 * Turns an ExportTraceServiceRequest in OTLP's JSON encoding into the same message in protobuf: one
 * transcoder serves both. Both lie in the memory, and whoever called gives the protobuf back.
 * Raises `invalid_request` for a body that is not JSON or has a value of the wrong kind,
 * `unavailable` when the memory does not reach. An id or an enum that cannot be read is written as
 * one that the transcoder refuses: that span is lost, not the request.
 */
export function createJsonRewriter(memory: Memory, options?: RewriterOptions): RewriteJson {
  const { block } = memory
  const bytes = Buffer.from(block.buffer)
  let target: Buffer = NOTHING
  const host = {
    ...createTextHost(bytes),
    enlarge(used: number, size: number): void {
      target = enlarge(memory, target, { used, size: Math.max(used + size, used * 2) })
      writeWithin(target)
    },
    wrongValue(problem: number): never {
      throw wrong(names[problem & FIELD_BITS] ?? '', PROBLEMS[(problem >> 8) - 1] ?? '')
    },
  }
  // The compiler of AssemblyScript checks the module's side, and any test of JSON this.
  const module = instantiate(Buffer.from(JSON_WASM, 'base64'), block, host) as JsonModule
  module.prepareEscapes()
  if (options?.pointsIntoBody === true) module.pointIntoBody()
  const fields = addJsonFields(module, createTextWriter(bytes, module.tableTexts.value))
  const names = ['the body', ...fields]
  const writeWithin = ({ byteOffset, length }: Buffer): void =>
    module.writeWithin(byteOffset, byteOffset + length)

  return (body) => {
    const { buffer, byteOffset: from, length } = body
    const isForeign = length > 0 && buffer !== block.buffer
    if (isForeign) throw new Error('The body must lie in the memory of the rewriter.')
    target = enlarge(memory, NOTHING, { used: 0, size: length })
    try {
      writeWithin(target)
      const size = module.rewrite(from, from + length, target.byteOffset, isUtf8(body) ? 1 : 0)
      return memory.trim(target, size)
    } catch (error) {
      memory.give(target)
      throw error
    } finally {
      target = NOTHING
    }
  }
}

const NOTHING = Buffer.alloc(0)
/** A problem is the number of its field, and that of its reason before it. */
const FIELD_BITS = 0xff
const PROBLEMS = Object.values(JSON_PROBLEMS)

/** The error for a value of the wrong kind; names the field, never the value. */
function wrong(name: string, problem: string): AppError {
  return new AppError(
    'invalid_request',
    `The body is not a valid OTLP request: ${name} ${problem}.`,
  )
}

const DOUBLE = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i
const BASE64 = /^[\w+/-]+={0,2}$/

/** Functions for what is rare. */
function createTextHost(bytes: Buffer) {
  /** The string whose content is in [from, end). */
  const stringAt = (from: number, end: number): string =>
    JSON.parse(`"${bytes.toString('utf8', from, end)}"`) as string
  return {
    invalidJson(): never {
      throw new AppError('invalid_request', 'The body is not valid JSON.')
    },
    repair: (from: number, end: number) =>
      from + bytes.write(bytes.toString('utf8', from, end), from),
    parseNumber: (from: number, end: number) => Number(bytes.toString('latin1', from, end)),
    parseDouble(from: number, end: number): number {
      const text = bytes.toString('latin1', from, end)
      return /^-?Infinity$/.test(text) || DOUBLE.test(text) ? Number(text) : Number.NaN
    },
    writeDecoded: (from: number, end: number, to: number) =>
      to + bytes.write(stringAt(from, end), to, 'base64'),
    writeDecodedId(from: number, end: number, ...[to, size]: [number, number]): number {
      const text = stringAt(from, end)
      const id = Buffer.from(text, 'base64')
      if (id.length !== size || !BASE64.test(text)) return 0
      bytes.set(id, to)
      return 1
    },
  }
}
