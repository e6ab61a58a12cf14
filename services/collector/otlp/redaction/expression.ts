/**
 * The language of expressions: characters and classes of one byte each, repeated. It has neither
 * groups nor alternatives, and what may be repeated must have no byte in common with what follows,
 * so that an expression is matched in one go, without ever trying a second way.
 */

/** A class of bytes, and how often it stands there. */
export interface Item {
  readonly members: ReadonlySet<number>
  readonly min: number
  /** Infinity for no limit. */
  readonly max: number
}

const BYTES = Array.from({ length: 256 }, (_, byte) => byte)
/** Bytes of the fixed beginning that every expression needs. */
const HEAD_BYTES = 3
/** Bytes of the beginning by which it is looked for, if it has so many. */
const SIGHT_BYTES = 4
const MAX_CHARS = 256
const MAX_TIMES = 256

/** The error for an expression that is not taken; the message says why, without its name. */
const refused = (problem: string): Error => new Error(problem)

/** The items of an expression. Raises an error that says why it is refused. */
export function readExpression(source: string): readonly Item[] {
  if (source.length === 0 || source.length > MAX_CHARS) {
    throw refused(`must have 1 to ${MAX_CHARS} characters`)
  }
  const items: Item[] = []
  for (let at = 0; at < source.length;) {
    const unit = readUnit(source, at)
    const times = readTimes(source, unit.end)
    items.push(...unit.bytes.slice(0, -1).map((members) => ({ members, min: 1, max: 1 })), {
      members: unit.bytes.at(-1) ?? new Set(),
      ...times,
    })
    at = times.end
  }
  checkHead(items)
  checkNeighbours(items)
  return items
}

/** Something that can be repeated: the bytes of one character, or a class. */
interface Unit {
  readonly bytes: readonly ReadonlySet<number>[]
  readonly end: number
}

function readUnit(source: string, at: number): Unit {
  const char = String.fromCodePoint(source.codePointAt(at) ?? 0)
  const one = (members: Iterable<number>, end: number): Unit => ({ bytes: [new Set(members)], end })
  if (char === '[') return readClass(source, at + 1)
  if (char === '.')
    return one(
      BYTES.filter((byte) => byte !== 0x0a),
      at + 1,
    )
  if (char === '\\') return one(readEscape(source, at), at + 2)
  if (char === '(' || char === '|' || char === ')') {
    throw refused('has a group or alternatives; write each alternative as one of its own')
  }
  if ('^$'.includes(char)) throw refused(`has ${char}, and anchors are not taken; \\${char} is`)
  if ('*+?{}]'.includes(char)) throw refused(`has ${char} with nothing to repeat; write \\${char}`)
  return { bytes: [...Buffer.from(char)].map((byte) => new Set([byte])), end: at + char.length }
}

const within = (ranges: string): number[] =>
  BYTES.filter((byte) => new RegExp(`[${ranges}]`).test(String.fromCharCode(byte)))

const SHORT: Readonly<Record<string, readonly number[]>> = {
  d: within('0-9'),
  w: within('0-9A-Za-z_'),
  s: within(' \\t\\r\\n\\f\\v'),
  t: [0x09],
  n: [0x0a],
  r: [0x0d],
}

/** The bytes of the escape whose backslash lies at `at`. */
function readEscape(source: string, at: number): readonly number[] {
  const char = source[at + 1] ?? ''
  const known = SHORT[char]
  if (known) return known
  if (!/^[!-/:-@[-`{-~ ]$/.test(char)) throw refused(`has \\${char}, which is not taken`)
  return [char.charCodeAt(0)]
}

function readClass(source: string, from: number): Unit {
  const isNegated = source[from] === '^'
  const members = new Set<number>()
  let at = isNegated ? from + 1 : from
  while (at < source.length && source[at] !== ']') {
    const part = readRange(source, at)
    for (const byte of part.bytes) members.add(byte)
    at = part.end
  }
  if (at >= source.length) throw refused('has a class without its ]')
  if (members.size === 0) throw refused('has an empty class')
  return {
    bytes: [isNegated ? new Set(BYTES.filter((byte) => !members.has(byte))) : members],
    end: at + 1,
  }
}

/** Some bytes of a class, and where they end in the source. */
interface Part {
  readonly bytes: readonly number[]
  readonly end: number
}

/** A member of a class, or a range from one to another. */
function readRange(source: string, at: number): Part {
  const first = readMember(source, at)
  const isRange = source[first.end] === '-' && !['', ']'].includes(source[first.end + 1] ?? '')
  if (!isRange) return first
  const last = readMember(source, first.end + 1)
  const [low = 1, high = 0] = [first.bytes[0], last.bytes[0]]
  if (first.bytes.length !== 1 || last.bytes.length !== 1 || low > high) {
    throw refused('has a range in a class that does not go upwards from one character to another')
  }
  return { bytes: BYTES.slice(low, high + 1), end: last.end }
}

function readMember(source: string, at: number): Part {
  const code = source.charCodeAt(at)
  if (source[at] === '\\') return { bytes: readEscape(source, at), end: at + 2 }
  if (code > 0x7e || code < 0x20) throw refused('has a class with a character outside ASCII')
  return { bytes: [code], end: at + 1 }
}

interface Times {
  readonly min: number
  readonly max: number
  readonly end: number
}

const SIGNS: Readonly<Record<string, readonly [number, number]>> = {
  '?': [0, 1],
  '*': [0, Infinity],
  '+': [1, Infinity],
}

function readTimes(source: string, at: number): Times {
  const sign = SIGNS[source[at] ?? '']
  if (sign) return { min: sign[0], max: sign[1], end: requireOne(source, at + 1) }
  return source[at] === '{' ? readCounts(source, at) : { min: 1, max: 1, end: at }
}

function readCounts(source: string, at: number): Times {
  const [whole, low, comma, high] = /^\{(\d{1,3})(,?)(\d{0,3})\}/.exec(source.slice(at)) ?? []
  if (whole === undefined) throw refused('has { without numbers such as {2}, {2,} or {2,5}')
  const min = Number(low)
  const most = high === '' ? Infinity : Number(high)
  const max = comma === '' ? min : most
  const isLimited = max === Infinity || max <= MAX_TIMES
  if (min > max || max === 0 || min > MAX_TIMES || !isLimited) {
    throw refused(`may repeat at most ${MAX_TIMES} times, or without a limit, and in order`)
  }
  return { min, max, end: requireOne(source, at + whole.length) }
}

/** One sign of repetition; a second would be a repeated repetition, or a lazy one. */
function requireOne(source: string, at: number): number {
  if (/[*+?{]/.test(source[at] ?? '')) throw refused('has two signs of repetition in a row')
  return at
}

const isFixed = ({ min, max }: Item): boolean => min === max

/** The classes of the three or four first bytes, by which an expression is looked for. */
export function headOf(items: readonly Item[]): readonly ReadonlySet<number>[] {
  const end = items.findIndex((item) => !isFixed(item))
  // Of the first that varies, the fewest times are fixed.
  const fixed = end < 0 ? items : items.slice(0, end + 1)
  return fixed
    .flatMap(({ members, min }) =>
      Array.from({ length: Math.min(min, SIGHT_BYTES) }, () => members),
    )
    .slice(0, SIGHT_BYTES)
}

/** Beginnings that there may be: each place in a text that has one is looked at closely. */
const MAX_HEADS = 65_536

function checkHead(items: readonly Item[]): void {
  const head = headOf(items).slice(0, HEAD_BYTES)
  const heads = head.reduce((product, { size }) => product * size, 1)
  if (head.length < HEAD_BYTES || heads > MAX_HEADS) {
    throw refused(
      `must begin with ${HEAD_BYTES} characters, or classes of few, that are always there`,
    )
  }
}

function checkNeighbours(items: readonly Item[]): void {
  for (const [place, item] of items.entries()) {
    const next = items[place + 1]
    if (isFixed(item) || !next) continue
    // An item that may be absent lets the one behind it be next.
    const followers = items.slice(place + 1, place + 2 + countAbsent(items, place + 1))
    const shared = followers.some(({ members }) =>
      [...members].some((byte) => item.members.has(byte)),
    )
    if (shared) {
      throw refused(
        'repeats something that the next part can begin with too, which takes too long to match',
      )
    }
  }
}

/** The items from `place` on that may be absent, one behind the other. */
function countAbsent(items: readonly Item[], place: number): number {
  const present = items.slice(place).findIndex(({ min }) => min > 0)
  return present < 0 ? items.length - place : present
}
