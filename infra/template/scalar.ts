import { PLACEHOLDER } from './template-reading.ts'

/** A scalar as YAML, quoted only where a YAML 1.1 or 1.2 parser could read something else. */
export function yamlScalar(value: string | number | boolean): string {
  if (typeof value !== 'string') return String(value)
  if (value.includes(PLACEHOLDER))
    throw new Error('a symbolic value lost its place in the manifest')
  return isPlain(value) ? value : quoted(value)
}

const PLAIN = /^(?:--?)?[A-Za-z_./][\w ./:@%+=,$()-]*$/
const QUANTITY = /^[1-9][0-9]*(m|[KMGT]i)$/
const WORD = /^(?:y|n|yes|no|on|off|true|false|null|~|<<|=)$/i
const NUMBER = /^(?:[-+]?[._]*[0-9][\w.+-]*|e[0-9]+|[-+]?\.(?:inf|nan))$/i

/** Tells whether a text means itself without quotes. */
export const isPlain = (value: string): boolean =>
  QUANTITY.test(value) ||
  (PLAIN.test(value) && !(WORD.test(value) || NUMBER.test(value)) && !/ $|: |:$| #/.test(value))

// JSON leaves a few characters bare that YAML 1.1 takes for line breaks or refuses.
const quoted = (value: string): string =>
  JSON.stringify(value).replace(/[\u007f-\u00a0\u2028\u2029\ufeff\ufffe\uffff]/g, (c) => {
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
  })

/** The lines of a script as a YAML literal block, or undefined for a text that is better quoted. */
export function literalBlock(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'string' || !/^[!-~][ -~\n]*[!-~]$/.test(value)) return undefined
  // They would be lost: no line is written with a blank at its end.
  if (value.includes(' \n')) return undefined
  const lines = value.split('\n')
  return lines.length > 1 ? lines : undefined
}
