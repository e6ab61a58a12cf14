import { createHash } from 'node:crypto'
import { parse, stringify } from 'yaml'

/** Truth as Go templates define it. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

/**
 * As `fmt.Print`. Numbers of values are floats, which print as 1e+06 from there on; a bigint is an
 * integer.
 */
export function print(value: unknown): string {
  if (['string', 'boolean', 'bigint'].includes(typeof value)) return String(value)
  if (typeof value !== 'number') throw new Error(`${JSON.stringify(value)} does not print as text`)
  if (value === 0 || (Math.abs(value) < 1e6 && Math.abs(value) >= 1e-4)) return String(value)
  return value.toExponential().replace(/e([-+])(\d)$/, 'e$10$2')
}

/** As `encoding/json`: keys in order, and what HTML could misread escaped. */
function toJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => toJson(item)).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, item]) => `${toJson(key)}:${toJson(item)}`).join(',')}}`
  }
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** As `json.MarshalIndent` with two blanks. */
function toPrettyJson(value: unknown, depth = 0): string {
  const at = (more: number): string => `\n${'  '.repeat(depth + more)}`
  const lines = (items: List): string =>
    items.length === 0 ? '' : at(1) + items.join(`,${at(1)}`) + at(0)
  if (Array.isArray(value)) return `[${lines(value.map((item) => toPrettyJson(item, depth + 1)))}]`
  if (typeof value !== 'object' || value === null) return toJson(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  const members = entries.map(([key, item]) => `${toJson(key)}: ${toPrettyJson(item, depth + 1)}`)
  return `{${lines(members)}}`
}

/** Fails as Go does where the kinds differ. */
function equal(left: unknown, right: unknown): boolean {
  const [a, b] = [left, right].map((side) => (typeof side === 'bigint' ? Number(side) : side))
  if (typeof a !== typeof b) throw new Error('incompatible types for comparison')
  return a === b
}

/** Go prints as they are only characters that one can see; bare, some of the others break lines. */
const escaped = (text: string): string =>
  text.replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} \n]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0
    return code > 0xff_ff
      ? `\\U${code.toString(16).padStart(8, '0')}`
      : `\\u${code.toString(16).padStart(4, '0')}`
  })

type Texts = readonly string[]
type List = readonly unknown[]

/** The functions that the chart calls, with the meaning that Go, Sprig and Helm give them. */
export const createFunctions = (include: (name: string, dot: unknown) => string) => ({
  and: (...args: (() => unknown)[]) => firstOf(args, (value) => !isTrue(value)),
  or: (...args: (() => unknown)[]) => firstOf(args, isTrue),
  not: (value: unknown) => !isTrue(value),
  empty: (value: unknown) => !isTrue(value),
  default: (fallback: unknown, value: unknown) => (isTrue(value) ? value : fallback),
  ternary: (yes: unknown, no: unknown, condition: unknown) => {
    if (typeof condition !== 'boolean') throw new Error('ternary wants a boolean')
    return condition ? yes : no
  },
  eq: equal,
  ne: (a: unknown, b: unknown) => !equal(a, b),
  gt: (a: number, b: number) => a > b,
  add: (a: number, b: number) => Number(a) + Number(b),
  mulf: (a: number, b: number) => a * b,
  float64: Number,
  int64: (value: unknown) => BigInt(Math.trunc(Number(value))),
  kindIs: (kind: string, value: unknown) => typeof value === kind,
  include,
  fail: (message: string) => {
    throw new Error(message)
  },
  list: (...items: List) => items,
  append: (list: List, item: unknown) => [...list, item],
  concat: (...lists: readonly List[]) => lists.flat(),
  compact: (list: List) => list.filter(isTrue),
  uniq: (list: List) => [...new Set(list)],
  len: (list: List) => list.length,
  dict: (...entries: List) =>
    Object.fromEntries(
      entries.flatMap((key, index) => (index % 2 === 0 ? [[key, entries[index + 1]]] : [])),
    ),
  /** Fills what is missing or empty in the first map, as Sprig does. */
  merge: (...maps: readonly Readonly<Record<string, unknown>>[]) =>
    maps.reduce<Record<string, unknown>>((merged, map) => {
      const missing = Object.entries(map).filter(([key]) => !isTrue(merged[key]))
      return { ...merged, ...Object.fromEntries(missing) }
    }, {}),
  dig: (...args: List) => {
    const [path, [fallback, map]] = [args.slice(0, -2), args.slice(-2)]
    return path.reduce<unknown>((at, key) => Object(at)[String(key)], map) ?? fallback
  },
  get: (map: Readonly<Record<string, unknown>>, key: string) => map[key] ?? '',
  index: (from: Readonly<Record<string, unknown>>, key: string) => from[key],
  base: (path: string) => path.replace(/\/+$/, '').split('/').at(-1) || (path === '' ? '.' : '/'),
  join: (separator: string, list: List) => list.join(separator),
  nindent: (by: number, text: string) => `\n${text.replaceAll(/^/gm, ' '.repeat(by))}`,
  printf: (format: string, ...args: List) => {
    const rest = [...args]
    return format.replace(/%(.)/g, (_, verb) => (verb === '%' ? '%' : print(rest.shift())))
  },
  /** Not as `strconv.Quote`, but the same text to a reader of YAML. */
  quote: (value: unknown) => escaped(JSON.stringify(print(value))),
  regexFind: (pattern: string, text: string) => new RegExp(pattern).exec(text)?.[0] ?? '',
  regexMatch: (pattern: string, text: string) => new RegExp(pattern).test(text),
  replace: (...[old, by, text]: Texts) => text?.replaceAll(old ?? '', () => by ?? ''),
  sha256sum: (text: string) => createHash('sha256').update(text).digest('hex'),
  fromYaml: (text: string): unknown => parse(text, { version: '1.1' }),
  toJson,
  toPrettyJson: (value: unknown) => toPrettyJson(value),
  toString: print,
  toYaml: (value: unknown) =>
    escaped(
      stringify(value, {
        version: '1.1',
        defaultStringType: 'QUOTE_DOUBLE',
        lineWidth: 0,
        sortMapEntries: true,
      }).trimEnd(),
    ),
  trimAll: (cut: string, text: string) =>
    text.replace(new RegExp(`^[${cut}]+|[${cut}]+$`, 'g'), ''),
  trimSuffix: (suffix: string, text: string) =>
    text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text,
  trunc: (length: number, text: string) => text.slice(0, length),
})

/** The first value that decides, or the last one. */
function firstOf(args: readonly (() => unknown)[], decides: (value: unknown) => boolean): unknown {
  let value: unknown
  for (const argument of args) {
    value = argument()
    if (decides(value)) return value
  }
  return value
}
