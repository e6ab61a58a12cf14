/** Plain data, as in YAML and JSON. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject

/** A map of plain data. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** Tells whether a value is a map: neither null, a list, nor an instance of a class. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * JSON exactly as Go writes it: sorted keys, and `<`, `>`, `&` and the line separators escaped.
 * With a line end, each member is on a line of its own, two blanks further in than what it is in.
 */
export function goJson(value: Json, line = ''): string {
  const escaped = (json: string): string =>
    json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const inner = line && `${line}  `
  const around = (members: readonly string[]): string =>
    members.length === 0 ? '' : inner + members.join(`,${inner}`) + line
  if (Array.isArray(value)) return `[${around(value.map((item) => goJson(item, inner)))}]`
  if (!isObject(value)) return escaped(JSON.stringify(value))
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  const colon = line === '' ? ':' : ': '
  const members = entries.map(([key, item]) => goJson(key) + colon + goJson(item, inner))
  return `{${around(members)}}`
}
