import { PROMOTED_COLUMNS } from './columns.ts'
import { LEFT_OUT_COLUMNS, LEFT_OUT_KEYS } from './left-out-keys.ts'

/** The attributes of a span as they are stored. */
interface StoredAttributes {
  /** Those in a column of their own are not in it. */
  readonly attributes: string | null
  /** The codes of these; null for none. */
  readonly leftOut: Uint8Array | null
  /** The value of a column, numbers in decimal digits. */
  readonly valueOf: (column: string) => unknown
}

interface Member {
  readonly key: string
  readonly text: string
}

/**
 * The attributes of a span with those that are in columns, in the text that PostgreSQL has for such
 * a jsonb value. The view `live_spans` has the same, at several times the cost.
 */
export function wholeAttributes({ attributes, leftOut, valueOf }: StoredAttributes): string | null {
  if (leftOut === null) return attributes
  const members = membersOf(attributes ?? '{}')
  const known = new Set(members.map(({ key }) => key))
  for (const code of leftOut) {
    const key = LEFT_OUT_KEYS[code - 1]
    const column = LEFT_OUT_COLUMNS[code - 1]
    const value = column === undefined ? null : valueOf(column)
    // One that is stored as well came with an earlier version of the collector, and is newer.
    if (key === undefined || typeof value !== 'string' || known.has(key)) continue
    const text = COUNTS.has(column) ? value : JSON.stringify(value)
    members.push({ key, text: `"${key}": ${text}` })
  }
  members.sort(byKey)
  return `{${members.map(({ text }) => text).join(', ')}}`
}

const COUNTS = new Set<string | undefined>(
  PROMOTED_COLUMNS.filter(({ kind }) => kind === 'count').map(({ column }) => column),
)

/** As jsonb has them. Where a key is not of ASCII alone, it is compared with one that is. */
function byKey(one: Member, other: Member): number {
  const bytes = Buffer.byteLength(one.key) - Buffer.byteLength(other.key)
  if (bytes !== 0) return bytes
  return Buffer.compare(Buffer.from(one.key), Buffer.from(other.key))
}

/** Strings, and what else has a meaning between them. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|, /g

/** The members of an object as PostgreSQL writes it. */
function membersOf(json: string): Member[] {
  const members: Member[] = []
  let depth = 0
  let from = 1
  let key: string | undefined
  for (const { 0: token, index } of json.matchAll(TOKENS)) {
    if (token.startsWith('"')) key ??= token
    else if (token === '{' || token === '[') depth += 1
    else if (token !== ', ') depth -= 1
    const isEnd = depth === 0 || (depth === 1 && token === ', ')
    if (!isEnd || key === undefined) continue
    members.push({ key: unquoted(key), text: json.slice(from, index) })
    key = undefined
    from = index + token.length
  }
  return members
}

const unquoted = (key: string): string =>
  key.includes('\\') ? String(JSON.parse(key)) : key.slice(1, -1)
