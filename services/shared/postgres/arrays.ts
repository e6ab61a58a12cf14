const SPECIAL = /["\\]/g
/** Most texts have none of them, and to see that takes less than to replace nothing. */
const HAS_SPECIAL = /["\\]/
const ESCAPED = /\\([^])/g
/** An element of an array as PostgreSQL writes it: in double quotes, or plain. */
const ELEMENT = /"((?:[^"\\]|\\[^])*)"|([^",{}]+)/g

function writeElement(value: string | number | null): string {
  if (value === null) return 'NULL'
  const text = String(value)
  return `"${HAS_SPECIAL.test(text) ? text.replace(SPECIAL, '\\$&') : text}"`
}

/** Writes the text of an array, of one dimension, as PostgreSQL reads it. */
export const arrayText = (values: readonly (string | number | null)[]): string =>
  `{${values.map(writeElement).join(',')}}`

/** Reads `{a,"b c",NULL}`. No statement returns an array of arrays. */
function readArray<Element>(text: string, fromText: (text: string) => Element): (Element | null)[] {
  if (!/^\{[^{]/.test(text)) throw new Error('Only arrays of one dimension, from 1, can be read.')
  return Array.from(text.matchAll(ELEMENT), ([, quoted = '', plain]) => {
    if (plain === 'NULL') return null
    return fromText(plain ?? quoted.replace(ESCAPED, '$1'))
  })
}

function arrayType<Element extends string | number>(
  oid: number,
  fromText: (text: string) => Element,
) {
  return {
    to: oid,
    from: [oid],
    serialize: (values: readonly (Element | null)[]) => arrayText(values),
    parse: (text: string) => readArray(text, fromText),
  }
}

/**
 * The array types that statements use, by their oids, as PostgreSQL writes them. postgres.js would
 * ask the server for all that it has on each new connection, and would end the process if that
 * connection is lost meanwhile.
 */
export const arrayTypes = {
  texts: arrayType(1009, String),
  integers: arrayType(1007, Number),
  bigints: arrayType(1016, String),
  uuids: arrayType(2951, String),
}
