import type { EnvSource } from '../../shared/env.ts'

const SECRET_NAME = /SECRET|PASSWORD|TOKEN|KEY|PAT$|JWT$|CREDENTIAL/
/** A shorter value is a word that stands everywhere, such as the password of a database for development. */
const SECRET_LENGTH_MIN = 10
const DEPTH_MAX = 12

const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/([a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi, '$1[redacted]@'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, '[redacted]'],
  [/\b(sk|pk|pat|ghp|gho|xox[abp])[-_][\w-]{8,}/g, '[redacted]'],
  [/([?&][\w.-]+=)[^&\s"']+/g, '$1[redacted]'],
]

/** Takes out of a report whatever is, or looks like, a credential: remote answers end up in error messages. */
export function createRedaction(env: EnvSource): <Value>(value: Value) => Value {
  const secrets = Object.entries(env)
    .filter(([name, value = '']) => SECRET_NAME.test(name) && value.length >= SECRET_LENGTH_MIN)
    .map(([, value = '']) => value)
    .toSorted((a, b) => b.length - a.length)

  function redactText(text: string): string {
    const known = secrets.reduce((shown, each) => shown.replaceAll(each, '[redacted]'), text)
    return SHAPES.reduce((shown, [shape, by]) => shown.replace(shape, by), known)
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
