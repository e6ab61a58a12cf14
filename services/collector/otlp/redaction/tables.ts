import { MAX_REDACTION_CLASSES, MAX_REDACTION_ENTRIES, MAX_REDACTION_ITEMS } from '../limits.ts'
import { headOf, readExpression } from './expression.ts'
import type { Item } from './expression.ts'
import type { Sought } from './kinds.ts'

/** The tables of the transcoder that say what is redacted, as it reads them. */
export interface Tables {
  readonly fingerprints: Buffer
  readonly pairs: Buffer
  readonly entries: Buffer
  readonly entryItems: Buffer
  readonly classes: Buffer
  /** Entries that there are. */
  readonly count: number
}

const AT_WORD = 1
const WITH_DIGIT = 2
const UNLIMITED = 0xff_ff_ff_ff
const ENTRY_BYTES = 8
const CLASS_BYTES = 32
/** Bytes of a text that are looked at. */
const PLACES = 4
/** For each of them: the buckets by its low half, then by its high half, of 16 values. */
const HALVES = 16
/** A bit of a byte each. */
const BUCKETS = 8

/**
 * The tables for what is sought; `kindOf` is the number of a kind. Raises an error when there is
 * too much of it.
 */
export function createTables(all: readonly Sought[], kindOf: (kind: string) => number): Tables {
  const classes: Buffer[] = []
  const items: Buffer[] = []
  const entries: Buffer[] = []
  const buckets = createBuckets()
  const parsedBy = new Map(all.map((sought) => [sought, readExpression(sought.expression)]))
  const widest = (one: readonly Item[]): number => breadthOf(withHead(noHalves(), headOf(one)))
  // The widest come first: each has a bucket of its own.
  const ordered = [...parsedBy].toSorted(([, a], [, b]) => widest(b) - widest(a))
  for (const [sought, parsed] of ordered) {
    const bucket = buckets.add(headOf(parsed))
    const written = sought.matcher === undefined ? parsed : []
    entries.push(entryOf(sought, { bucket, kind: kindOf(sought.kind), items, written }))
    items.push(...written.map((item) => itemOf(item, classIndex(classes, item.members))))
  }
  checkRoom('expressions', entries.length, MAX_REDACTION_ENTRIES)
  checkRoom('parts of expressions', items.length, MAX_REDACTION_ITEMS)
  checkRoom('different characters and classes', classes.length, MAX_REDACTION_CLASSES)
  return {
    fingerprints: buckets.fingerprints(),
    pairs: pairsOf([...parsedBy.values()].map(headOf)),
    entries: Buffer.concat(entries),
    entryItems: Buffer.concat(items),
    classes: Buffer.concat(classes),
    count: entries.length,
  }
}

function checkRoom(what: string, count: number, limit: number): void {
  if (count > limit) throw new Error(`there are ${count} ${what}, of at most ${limit}`)
}

type Head = readonly ReadonlySet<number>[]
/** By place, the low and the high halves of bytes that a bucket has. */
type Halves = readonly (readonly [low: Set<number>, high: Set<number>])[]

const noHalves = (): Halves => Array.from({ length: PLACES }, () => [new Set(), new Set()])

const ANY: ReadonlySet<number> = new Set(Array.from({ length: 256 }, (_, byte) => byte))

function withHead(halves: Halves, head: Head): Halves {
  return halves.map(([low, high], place) => {
    const bytes = [...(head[place] ?? ANY)]
    return [
      new Set([...low, ...bytes.map((byte) => byte & 15)]),
      new Set([...high, ...bytes.map((byte) => byte >> 4)]),
    ]
  })
}

/** Beginnings that a bucket lets through, right or wrong. */
const breadthOf = (halves: Halves): number =>
  halves.reduce((product, [low, high]) => product * low.size * high.size, 1)

/** Heads that share a bucket let through mixtures of them: each goes where it adds the fewest. */
function createBuckets() {
  const buckets = Array.from({ length: BUCKETS }, noHalves)
  return {
    /** Returns the bucket, as its bit. */
    add(head: Head): number {
      const added = buckets.map((one) => breadthOf(withHead(one, head)) - breadthOf(one))
      const best = added.indexOf(Math.min(...added))
      buckets[best] = withHead(buckets[best] ?? noHalves(), head)
      return 1 << best
    },
    fingerprints(): Buffer {
      const table = Buffer.alloc(PLACES * 2 * HALVES)
      for (const [bucket, halves] of buckets.entries()) {
        for (const [part, values] of halves.flat().entries()) {
          for (const value of values) setBit(table, part * HALVES + value, 1 << bucket)
        }
      }
      return table
    },
  }
}

const PAIR_BYTES = 8192

/** A bit for each first and second byte of a head, then for each second and third one. */
function pairsOf(heads: readonly Head[]): Buffer {
  const bits = Buffer.alloc(2 * PAIR_BYTES)
  for (const [first = ANY, second = ANY, third = ANY] of heads) {
    setPairs(bits.subarray(0, PAIR_BYTES), first, second)
    setPairs(bits.subarray(PAIR_BYTES), second, third)
  }
  return bits
}

/** In memory the first byte of a pair is the lower half of a number. */
function setPairs(bits: Buffer, first: Iterable<number>, second: ReadonlySet<number>): void {
  for (const low of first) {
    for (const high of second) {
      const pair = high * 256 + low
      setBit(bits, pair >> 3, 1 << (pair & 7))
    }
  }
}

function setBit(table: Buffer, at: number, bit: number): void {
  table[at] = (table[at] ?? 0) | bit
}

interface Placed {
  readonly bucket: number
  readonly kind: number
  readonly items: readonly Buffer[]
  readonly written: readonly Item[]
}

function entryOf(sought: Sought, { bucket, kind, items, written }: Placed): Buffer {
  const entry = Buffer.alloc(ENTRY_BYTES)
  entry.writeUInt8(bucket, 0)
  entry.writeUInt8(sought.matcher ?? 0, 1)
  entry.writeUInt8(kind, 2)
  entry.writeUInt8((sought.isWord ? AT_WORD : 0) | (sought.hasDigit ? WITH_DIGIT : 0), 3)
  entry.writeUInt16LE(items.length, 4)
  entry.writeUInt16LE(written.length, 6)
  return entry
}

function itemOf({ min, max }: Item, members: number): Buffer {
  const item = Buffer.alloc(ENTRY_BYTES)
  item.writeUInt16LE(members, 0)
  item.writeUInt16LE(min, 2)
  item.writeUInt32LE(max === Infinity ? UNLIMITED : max, 4)
  return item
}

/** The place of a class among those that there are; it is added when it is new. */
function classIndex(classes: Buffer[], members: ReadonlySet<number>): number {
  const bits = Buffer.alloc(CLASS_BYTES)
  for (const byte of members) setBit(bits, byte >> 3, 1 << (byte & 7))
  const found = classes.findIndex((one) => one.equals(bits))
  return found < 0 ? classes.push(bits) - 1 : found
}
