import { createHash } from 'node:crypto'
import { isMore } from './quantity.ts'
import { goJson, isObject } from './json.ts'
import type { Json } from './json.ts'

/** A function of Go templates and what it computes, so that both readings share one meaning. */
type TemplateFunction = (...args: readonly Json[]) => Json

/** Go's notion of truth: everything but `""`, `0`, `false`, null and empty collections. */
export function truthy(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0
  return isObject(value) ? Object.keys(value).length > 0 : Boolean(value)
}

const define = (meaning: TemplateFunction): TemplateFunction => meaning

/** A scalar as Go prints it with `%v`. */
function print(value: Json | undefined): string {
  if (value === undefined || value === null || typeof value === 'object') {
    throw new Error(`${JSON.stringify(value)} cannot be printed as text`)
  }
  return String(value)
}

function printf(format: Json | undefined, ...args: readonly Json[]): string {
  const rest = [...args]
  return print(format).replace(/%[sv%]/g, (verb) => (verb === '%%' ? '%' : print(rest.shift())))
}

function asList(value: Json | undefined): readonly Json[] {
  if (!Array.isArray(value)) throw new Error(`${JSON.stringify(value)} is not a list`)
  return value
}

/** The last component of a path, as Go's `path.Base`. */
function base(path: string): string {
  if (path === '') return '.'
  return path.split('/').filter(Boolean).at(-1) ?? '/'
}

/** A text without some characters at both of its ends. */
function trimAll(cut: string, text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && cut.includes(text.charAt(start))) start += 1
  while (end > start && cut.includes(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function merge(first: Json, second: Json): Json {
  if (!isObject(first) || !isObject(second)) throw new Error('only maps are merged')
  const filled = Object.entries(first).filter(([, value]) => truthy(asJson(value)))
  return asJson({ ...first, ...second, ...Object.fromEntries(filled) }) ?? null
}

// What a map of plain data holds is plain data.
const asJson = (value: unknown): Json | undefined => value as Json | undefined

/** The functions of Go templates that expressions call, by name. */
export const FUNCTIONS = {
  and: define((...args) => args.every(truthy)),
  or: define((...args) => args.some(truthy)),
  not: define((value) => !truthy(value)),
  /**
   * Truth of any value as a condition; Go templates test it themselves, so it prints as its
   * argument.
   */
  isSet: define((value) => truthy(value)),
  eq: define((a, b) => a === b),
  isMore: define((amount = null, than = null) => isMore(amount, than)),
  gt: define((a, b) => Number(a) > Number(b)),
  add: define((a, b) => Number(a) + Number(b)),
  /** As Sprig's, which wants each step but the last to be a map. */
  dig: define((...args) => {
    const [path, [fallback = null, map]] = [args.slice(0, -2), args.slice(-2)]
    const found = path.reduce<unknown>(
      (at, key) => (isObject(at) ? at[print(key)] : undefined),
      map,
    )
    return asJson(found) ?? fallback
  }),
  /** As Sprig's: members of the first map win, unless they are empty. */
  merge: define((...maps) => maps.reduce(merge)),
  dict: define(() => ({})),
  /** Sprig's order: the fallback first. */
  default: define((fallback = null, value = null) => (truthy(value) ? value : fallback)),
  ternary: define((yes = null, no = null, condition) => (truthy(condition) ? yes : no)),
  printf: define(printf),
  toString: define(print),
  base: define((path) => base(print(path))),
  trimSuffix: define((suffix, text) => {
    const [end, whole] = [print(suffix), print(text)]
    return whole.endsWith(end) ? whole.slice(0, whole.length - end.length) : whole
  }),
  trimAll: define((cut, text) => trimAll(print(cut), print(text))),
  replace: define((old, by, text) => print(text).replaceAll(print(old), () => print(by))),
  regexMatch: define((pattern, text) => new RegExp(print(pattern), 'u').test(print(text))),
  list: define((...items) => items),
  uniq: define((items) => asList(items).filter((item, index, all) => all.indexOf(item) === index)),
  join: define((separator, items) => asList(items).map(print).join(print(separator))),
  compact: define((items) => asList(items).filter(truthy)),
  toJson: define((value = null) => goJson(value)),
  toPrettyJson: define((value = null) => goJson(value, '\n')),
  sha256sum: define((text) => createHash('sha256').update(print(text)).digest('hex')),
  trunc: define((length, text) => print(text).slice(0, Number(length))),
} satisfies Record<string, TemplateFunction>

/** The name of a function of Go templates. */
export type FunctionName = keyof typeof FUNCTIONS
