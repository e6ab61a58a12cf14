import { AppError } from '../../../../../services/shared/errors.ts'
import { isObject } from '../../../../../services/shared/is-object.ts'

/** Parsed JSON, read with care: every value is checked where it is used. */
export type JsonObject = Readonly<Record<string, unknown>>

/** The error for a value of the wrong kind; names the field, never the value. */
export function wrong(name: string, problem: string): AppError {
  return new AppError(
    'invalid_request',
    `The body is not a valid OTLP request: ${name} ${problem}.`,
  )
}

/** Raises `invalid_request` when the bytes are not JSON. */
export function parseJson(body: Buffer): unknown {
  const json = body.toString('utf8')
  try {
    return JSON.parse(quoteLongIntegers(json)) as unknown
  } catch (cause) {
    throw new AppError('invalid_request', 'The body is not valid JSON.', { cause })
  }
}

/**
 * Puts quotes around bare whole numbers that a JavaScript number cannot hold. OTLP takes 64-bit
 * numbers with and without quotes, and without them JSON.parse would shift a time by up to 128 ns.
 * A name is not a number.
 */
function quoteLongIntegers(json: string): string {
  const parts: string[] = []
  let from = 0
  for (const { text, index } of bareTokens(json)) {
    if (!/^-?\d{16,}$/.test(text)) continue
    if (isName(json, index + text.length)) continue
    parts.push(json.slice(from, index), `"${text}"`)
    from = index + text.length
  }
  return parts.join('') + json.slice(from)
}

function isName(json: string, end: number): boolean {
  const colon = /\s*:/y
  colon.lastIndex = end
  return colon.test(json)
}

/** The numbers in a JSON text; strings are stepped over. */
function* bareTokens(json: string): Generator<{ text: string; index: number }> {
  const token = /"|-?\d[\d.eE+-]*/g
  for (let match = token.exec(json); match; match = token.exec(json)) {
    if (match[0] === '"') token.lastIndex = endOfString(json, token.lastIndex)
    else yield { text: match[0], index: match.index }
  }
}

function endOfString(json: string, from: number): number {
  for (let i = from; i < json.length; i++) {
    const code = json.charCodeAt(i)
    if (code === 0x22) return i + 1
    if (code === 0x5c) i++
  }
  return json.length
}

/** An object. Raises `invalid_request` for anything else. */
export function asObject(value: unknown, name: string): JsonObject {
  if (!isObject(value)) throw wrong(name, 'must be an object')
  return value
}

/** A list; one that is absent is empty. */
export function asArray(value: unknown, name: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw wrong(name, 'must be an array')
  return value
}

/** A string; one that is absent is empty. */
export function optionalText(value: unknown, name: string): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw wrong(name, 'must be a string')
  return value
}

function wholeNumber(value: unknown, name: string): bigint {
  if (value === undefined || value === null || value === '') return 0n
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) return BigInt(value)
  throw wrong(name, 'must be a whole number')
}

/** 64 bits, as a number or in quotes; an absent one is 0. */
export function int64(value: unknown, name: string): bigint {
  const number = wholeNumber(value, name)
  if (BigInt.asIntN(64, number) !== number) throw wrong(name, 'does not fit 64 bits')
  return number
}

/** 64 bits without a sign; an absent one is 0. */
export function uint64(value: unknown, name: string): bigint {
  const number = wholeNumber(value, name)
  if (BigInt.asUintN(64, number) !== number) throw wrong(name, 'does not fit 64 bits')
  return number
}

/** 32 bits without a sign; an absent one is 0. */
export function uint32(value: unknown, name: string): number {
  const number = wholeNumber(value, name)
  if (BigInt.asUintN(32, number) !== number) throw wrong(name, 'does not fit 32 bits')
  return Number(number)
}
