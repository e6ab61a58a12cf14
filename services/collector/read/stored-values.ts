/** An AnyValue of OTLP's JSON encoding. */
interface AnyValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  /** Decimal digits: a JSON number loses what exceeds 2^53. */
  readonly intValue?: string
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values: readonly AnyValue[] }
  readonly kvlistValue?: { readonly values: readonly KeyValue[] }
  readonly bytesValue?: string
}

/** An attribute in OTLP's JSON. */
export interface KeyValue {
  readonly key: string
  readonly value: AnyValue
}

/** A value in a stored document; a number is a string that begins with `NUMBER`. */
export type Stored = null | boolean | string | readonly Stored[] | StoredObject
/** A JSON object as it is stored. */
export interface StoredObject {
  readonly [key: string]: Stored
}

/**
 * U+0000 never is in a stored string, so it marks the digits of numbers, which JSON.parse would
 * round.
 */
const NUMBER = '\0'
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Parses a stored JSON document with every digit of its numbers. */
export function parseStored(json: string): Stored {
  const marked = json.replace(TOKENS, (token) =>
    token.startsWith('"') ? token : `"\\u0000${token}"`,
  )
  // The document came from JSON, and every kind of JSON value but the numbers, now strings, is a
  // Stored.
  return JSON.parse(marked) as Stored
}

/** True for an object that is neither a list nor bytes. */
export const isObject = (value: Stored | undefined): value is StoredObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The text of a stored string, or the digits of a stored number; undefined for anything else, and
 * for an empty one.
 */
export function storedText(value: Stored | undefined): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  return value.startsWith(NUMBER) ? value.slice(1) : value
}

/** A stored number that fits a JavaScript one; 0 for anything else. */
export const storedCount = (value: Stored | undefined): number =>
  typeof value === 'string' && value.startsWith(NUMBER) ? Number(value.slice(1)) : 0

/** The attributes of a stored object, as OTLP lists them. */
export const toKeyValues = (value: Stored | undefined): KeyValue[] =>
  isObject(value)
    ? Object.entries(value).map(([key, member]) => ({ key, value: toAnyValue(member) }))
    : []

/** The reverse of what the transcoder writes. */
function toAnyValue(value: Stored): AnyValue {
  if (value === null) return {}
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'string') {
    return value.startsWith(NUMBER) ? toNumber(value.slice(1)) : { stringValue: value }
  }
  if (!isObject(value)) return { arrayValue: { values: value.map(toAnyValue) } }
  return toBytes(value) ?? { kvlistValue: { values: toKeyValues(value) } }
}

const INT_MIN = -(2n ** 63n)
const INT_MAX = 2n ** 63n - 1n

/**
 * Doubles were written with a fraction or an exponent; a very large one comes back from the
 * database as digits alone.
 */
function toNumber(digits: string): AnyValue {
  if (!/^-?\d+$/.test(digits)) return { doubleValue: Number(digits) }
  const value = digits.length > 20 ? undefined : BigInt(digits)
  const isInt = value !== undefined && value >= INT_MIN && value <= INT_MAX
  return isInt ? { intValue: digits } : { doubleValue: Number(digits) }
}

function toBytes(value: StoredObject): AnyValue | undefined {
  const { $b64: bytes, ...rest } = value
  if (typeof bytes !== 'string' || bytes.startsWith(NUMBER)) return undefined
  return Object.keys(rest).length === 0 ? { bytesValue: bytes } : undefined
}
