import { compile } from 'json-p3'
import type { JSONPathQuery } from 'json-p3'
import { toError } from './errors.ts'

const TEXT_OR_ZERO = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w.])0(?:\.\d+)?(?:e[+-]?\d+)?/gi

/** Reads a JSONPath (RFC 9535). Raises an error that says what is wrong where. */
export function readPath(path: string): JSONPathQuery {
  try {
    // json-p3 2.3 refuses 0.5 and 0e1, which the standard allows, but not 5e-1.
    return compile(
      path.replace(TEXT_OR_ZERO, (found) => (/^0[.e]/i.test(found) ? shift(found) : found)),
    )
  } catch (thrown) {
    // It quotes half of a character that JavaScript has in two parts, which no JSON may have.
    const message = toError(thrown).message.replaceAll(/\p{Cs}/gu, '\ufffd')
    throw new Error(message, { cause: thrown })
  }
}

/**
 * Reads a condition in the language of JSONPath filters, as a path that selects what fulfils it.
 * Raises as that, and for more than a condition.
 */
export function readCondition(given: string): JSONPathQuery {
  const path = readPath(`$[?(${given})]`)
  const [segment, ...others] = path.segments
  if (others.length === 0 && segment?.selectors.length === 1) return path
  throw new Error('it must be one condition, without brackets around it')
}

function shift(literal: string): string {
  const value = Number(literal)
  return value === 0 ? '0' : value.toExponential()
}
