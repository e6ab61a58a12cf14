import { createHash } from 'node:crypto'

/** Truth as Go templates judge it. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

/** As `fmt.Print`. Numbers of values are floats, which come out as 1e+06 from there on; a bigint is an integer. */
export function print(value: unknown): string {
  if (['string', 'boolean', 'bigint'].includes(typeof value)) return String(value)
  if (typeof value !== 'number') throw new Error(`${JSON.stringify(value)} does not print as text`)
  if (value === 0 || (Math.abs(value) < 1e6 && Math.abs(value) >= 1e-4)) return String(value)
  return value.toExponential().replace(/e([-+])(\d)$/, 'e$10$2')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

/** As `strconv.Quote`. */
function quote(text: string): string {
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`
  const quoted = Array.from(text, (character) => {
    const escape = ESCAPES[character]
    if (escape !== undefined) return escape
    if (character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character)) return character
    const code = character.codePointAt(0) ?? 0
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`
    return code < 0x1_0000
      ? `\\u${code.toString(16).padStart(4, '0')}`
      : `\\U${code.toString(16).padStart(8, '0')}`
  })
  return `"${quoted.join('')}"`
}

/** As `encoding/json`: keys in order, and what HTML could misread escaped. */
function toJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, item]) => `${toJson(key)}:${toJson(item)}`).join(',')}}`
  }
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** YAML in block style, every text quoted; Helm leaves most bare, which means the same. */
function yamlLines(value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((item: unknown) => {
      const [first = '', ...rest] = yamlLines(item)
      return [`- ${first}`, ...rest.map((line) => `  ${line}`)]
    })
  }
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) {
    return [typeof value === 'string' ? quote(value) : JSON.stringify(value)]
  }
  return Object.entries(value).flatMap(([key, item]) => {
    const lines = yamlLines(item)
    return isTrue(item) && typeof item === 'object'
      ? [`${quote(key)}:`, ...lines.map((line) => `  ${line}`)]
      : [`${quote(key)}: ${lines[0]}`]
  })
}

function equal(left: unknown, right: unknown): boolean {
  const [a, b] = [left, right].map((side) => (typeof side === 'bigint' ? Number(side) : side))
  if (typeof a !== typeof b) throw new Error('incompatible types for comparison')
  return a === b
}

const text = (value: unknown): string => {
  if (typeof value !== 'string') throw new Error(`expected a string, got ${JSON.stringify(value)}`)
  return value
}

const number = (value: unknown): number => {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'number') throw new Error(`expected a number, got ${JSON.stringify(value)}`)
  return value
}

const asList = (value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw new Error('expected a list')
  return value
}

const member = (map: unknown, key: string): unknown =>
  typeof map === 'object' && map !== null ? (map as Record<string, unknown>)[key] : undefined

const indent = (by: unknown, value: unknown): string =>
  text(value).replaceAll(/^/gm, ' '.repeat(Number(by)))

/** What a function needs to know of the template that calls it. */
export interface Caller {
  readonly include: (name: string, dot: unknown) => string
}

type TemplateFunction = (caller: Caller, ...args: readonly unknown[]) => unknown

/** The functions that the chart calls, with the meaning that Go, Sprig and Helm give them. */
export const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  add: (_, a, b) => Number(a) + Number(b),
  and: (_, ...args) => args.find((value) => !isTrue(value)) ?? args.at(-1),
  append: (_, list, item) => [...asList(list), item],
  base: (_, path) => text(path).replace(/\/+$/, '').split('/').at(-1) || (path === '' ? '.' : '/'),
  compact: (_, list) => asList(list).filter(isTrue),
  concat: (_, ...lists) => lists.flatMap(asList),
  dict: (_, ...entries) =>
    Object.fromEntries(
      entries.flatMap((key, index) => (index % 2 === 0 ? [[text(key), entries[index + 1]]] : [])),
    ),
  default: (_, fallback, value) => (isTrue(value) ? value : fallback),
  empty: (_, value) => !isTrue(value),
  eq: (_, a, b) => equal(a, b),
  fail: (_, message) => {
    throw new Error(text(message))
  },
  float64: (_, value) => Number(value),
  get: (_, map, key) => member(map, text(key)) ?? '',
  gt: (_, a, b) => number(a) > number(b),
  include: ({ include }, name, dot) => include(text(name), dot),
  index: (_, from, key) => (Array.isArray(from) ? from[number(key)] : member(from, text(key))),
  int64: (_, value) => BigInt(Math.trunc(Number(value))),
  join: (_, separator, list) => asList(list).join(text(separator)),
  kindIs: (_, kind, value) => typeof value === kind,
  len: (_, list) => asList(list).length,
  list: (_, ...items) => items,
  mulf: (_, a, b) => number(a) * number(b),
  ne: (_, a, b) => !equal(a, b),
  nindent: (_, by, value) => `\n${indent(by, value)}`,
  not: (_, value) => !isTrue(value),
  or: (_, ...args) => args.find(isTrue) ?? args.at(-1),
  printf: (_, format, ...args) => {
    const rest = [...args]
    return text(format).replace(/%(.)/g, (_verb, kind: string) => {
      if (kind === '%') return '%'
      return kind === 's' ? text(rest.shift()) : print(rest.shift())
    })
  },
  quote: (_, value) => quote(print(value)),
  regexFind: (_, pattern, value) => new RegExp(text(pattern)).exec(text(value))?.[0] ?? '',
  regexMatch: (_, pattern, value) => new RegExp(text(pattern)).test(text(value)),
  sha256sum: (_, value) => createHash('sha256').update(text(value)).digest('hex'),
  ternary: (_, ...[yes, no, condition]) => {
    if (typeof condition !== 'boolean') throw new Error('ternary wants a boolean')
    return condition ? yes : no
  },
  toJson: (_, value) => toJson(value),
  toString: (_: Caller, value: unknown) => print(value),
  toYaml: (_, value) => yamlLines(value).join('\n'),
  trimAll: (_, cut, value) =>
    text(value).replace(new RegExp(`^[${text(cut)}]+|[${text(cut)}]+$`, 'g'), ''),
  trimSuffix: (_, suffix, value) => {
    const [end, whole] = [text(suffix), text(value)]
    return whole.endsWith(end) ? whole.slice(0, whole.length - end.length) : whole
  },
  replace: (_, ...[old, by, value]) => text(value).replaceAll(text(old), () => text(by)),
  trunc: (_, length, value) => text(value).slice(0, Number(length)),
  uniq: (_, list) => [...new Set(asList(list))],
}
