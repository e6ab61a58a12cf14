import { createHash } from 'node:crypto'

/** Truth as Go templates judge it. */
export function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

/** As `fmt.Print`. A number from a 1e6 on would come out as 1e+06, which no template may risk. */
export function print(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'boolean') return String(value)
  if (typeof value === 'number' && Math.abs(value) < 1e6) return String(value)
  throw new Error(`${JSON.stringify(value)} does not print as text`)
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

function equal(a: unknown, b: unknown): boolean {
  if (typeof a !== typeof b) throw new Error('incompatible types for comparison')
  return a === b
}

const text = (value: unknown): string => {
  if (typeof value !== 'string') throw new Error(`expected a string, got ${JSON.stringify(value)}`)
  return value
}

const number = (value: unknown): number => {
  if (typeof value !== 'number') throw new Error(`expected a number, got ${JSON.stringify(value)}`)
  return value
}

const asList = (value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw new Error('expected a list')
  return value
}

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
  default: (_, fallback, value) => (isTrue(value) ? value : fallback),
  empty: (_, value) => !isTrue(value),
  eq: (_, a, b) => equal(a, b),
  fail: (_, message) => {
    throw new Error(text(message))
  },
  gt: (_, a, b) => number(a) > number(b),
  include: ({ include }, name, dot) => include(text(name), dot),
  int64: (_, value) => Math.trunc(Number(value)),
  join: (_, separator, list) => asList(list).join(text(separator)),
  list: (_, ...items) => items,
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
  regexMatch: (_, pattern, value) => new RegExp(text(pattern)).test(text(value)),
  sha256sum: (_, value) => createHash('sha256').update(text(value)).digest('hex'),
  ternary: (_, ...[yes, no, condition]) => {
    if (typeof condition !== 'boolean') throw new Error('ternary wants a boolean')
    return condition ? yes : no
  },
  toJson: (_, value) => toJson(value),
  toString: (_: Caller, value: unknown) => print(value),
  toYaml: (_, value) => yamlLines(value).join('\n'),
  trimSuffix: (_, suffix, value) => {
    const [end, whole] = [text(suffix), text(value)]
    return whole.endsWith(end) ? whole.slice(0, whole.length - end.length) : whole
  },
  trunc: (_, length, value) => text(value).slice(0, Number(length)),
  uniq: (_, list) => [...new Set(asList(list))],
}
