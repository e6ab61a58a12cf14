import { isObject } from '../../../shared/is-object.ts'

/** Values within values beyond this are shown as `…`. */
const DEPTH_MAX = 20

/** Returns a value of OTLP's JSON encoding as a text: a string as it is, anything else as JSON. */
export function otlpText(value: unknown): string {
  const plain = plainOf(value, 0)
  return typeof plain === 'string' ? plain : (JSON.stringify(plain) ?? '')
}

function plainOf(value: unknown, depth: number): unknown {
  if (!isObject(value)) return null
  if (depth > DEPTH_MAX) return '…'
  const { stringValue, boolValue, intValue, doubleValue, bytesValue, arrayValue, kvlistValue } =
    value
  if (isObject(arrayValue)) return listOf(arrayValue).map((each) => plainOf(each, depth + 1))
  if (isObject(kvlistValue)) {
    return Object.fromEntries(
      listOf(kvlistValue).flatMap((each) =>
        isObject(each) ? [[String(each['key']), plainOf(each['value'], depth + 1)]] : [],
      ),
    )
  }
  // A count may have more digits than a number can hold: it stays the text that it is.
  return stringValue ?? boolValue ?? intValue ?? doubleValue ?? bytesValue ?? null
}

const listOf = ({ values }: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Array.isArray(values) ? values : []
