import type { EnvSource } from './env.ts'

const SECRET_NAME = /SECRET|PASSWORD|TOKEN|KEY|PAT$|JWT$|CREDENTIAL/
/** A shorter value is a word that stands everywhere, such as a password for development. */
const SECRET_LENGTH_MIN = 10
const DEPTH_MAX = 12
const TEXT_LENGTH_MAX = 1000
/**
 * The characters that are examined: the time of some shapes grows with the square of the length.
 */
const SEEN_LENGTH_MAX = 4 * TEXT_LENGTH_MAX

const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@]*@/gi, '$1[redacted]@'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, '[redacted]'],
  [/\b(sk|pk|pat|ghp|gho|xox[abp])[-_][\w-]{8,}/g, '[redacted]'],
  [/([?&][\w.-]+=)[^&\s"']+/g, '$1[redacted]'],
  [
    /\b((?:password|passwd|secret|token|api[-_]?key)(?:=|"\s*:\s*")"?)[^\s"',;&]+/gi,
    '$1[redacted]',
  ],
]

/** Returns true for the name of a variable whose value is a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name.toUpperCase())

/**
 * Takes out of a text what looks like a credential. Its time can grow with the square of the
 * length: cut the text before.
 */
export const redactShapes = (text: string): string =>
  SHAPES.reduce((shown, [shape, by]) => shown.replace(shape, by), text)

/**
 * Takes out of a report whatever is, or looks like, a credential, and cuts each text to 1000
 * characters: what others answered ends up in it.
 */
export function createRedaction(env: EnvSource): <Value>(value: Value) => Value {
  const secrets = Object.entries(env)
    .filter(([name, value = '']) => SECRET_NAME.test(name) && value.length >= SECRET_LENGTH_MIN)
    .map(([, value = '']) => value)
    .toSorted((a, b) => b.length - a.length)

  function redactText(text: string): string {
    const seen = text.slice(0, SEEN_LENGTH_MAX)
    const known = secrets.reduce((shown, each) => shown.replaceAll(each, '[redacted]'), seen)
    const clean = redactShapes(known)
    return clean.length > TEXT_LENGTH_MAX ? `${clean.slice(0, TEXT_LENGTH_MAX)}…` : clean
  }

  function redact(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return redactText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > DEPTH_MAX) return '[…]'
    if (Array.isArray(value)) return value.map((each) => redact(each, depth + 1))
    const entries = Object.entries(value).map(([key, each]) => [key, redact(each, depth + 1)])
    return Object.fromEntries(entries)
  }

  // The shape stays: only texts change.
  return <Value>(value: Value) => redact(value, 0) as Value
}
