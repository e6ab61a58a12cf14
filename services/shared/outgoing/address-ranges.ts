import { isIP } from 'node:net'

/** The addresses that share their first bits. */
export interface AddressRange {
  readonly version: 4 | 6
  /** The lowest address, as a number. */
  readonly start: bigint
  /** How many bits they share. */
  readonly bits: number
}

/** A range without parts of it, which are all smaller than the range. */
export interface AddressBlock {
  readonly range: AddressRange
  readonly except: readonly AddressRange[]
}

const WIDTHS = { 4: 32, 6: 128 } as const
const GROUPS = 8
/** What programs write of an IPv4 address as one of IPv6: `::ffff:10.0.0.1`. */
const MAPPED = { prefix: 0xffffn << 32n, bits: 96 } as const

/**
 * Reads an address such as `10.0.0.1`, or a range such as `10.0.0.0/8`; bits beyond its length are
 * dropped, and IPv4 within IPv6 (`::ffff:0:0/96`) is IPv4. Returns undefined for anything else.
 */
export function readRange(text: string): AddressRange | undefined {
  const [address = '', length, ...more] = text.split('/')
  const version = isIP(address)
  if ((version !== 4 && version !== 6) || address.includes('%') || more.length > 0) return undefined
  const width = WIDTHS[version]
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined
  const bits = length === undefined ? width : Number(length)
  if (bits > width) return undefined
  const start = version === 4 ? toNumber(address.split('.'), 10) : toNumber(groupsOf(address), 16)
  return plain(cut({ version, start, bits }))
}

/** Writes a range as `10.0.0.0/8`. */
export function rangeText({ version, start, bits }: AddressRange): string {
  if (version === 4) return `${partsOf(start, { count: 4, bits: 8 }).join('.')}/${bits}`
  const groups = partsOf(start, { count: GROUPS, bits: 16 }).map((group) => group.toString(16))
  return `${new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)}/${bits}`
}

/** Tells whether all addresses of a range are in another one. */
export const isWithin = (inner: AddressRange, outer: AddressRange): boolean =>
  inner.version === outer.version &&
  inner.bits >= outer.bits &&
  cut({ ...inner, bits: outer.bits }).start === outer.start

/** Returns what a range has in common with blocks. */
export const narrow = (
  range: AddressRange,
  blocks: readonly AddressBlock[],
): readonly AddressBlock[] =>
  blocks.flatMap((block) => {
    if (isWithin(block.range, range)) return [block]
    const isShut = block.except.some((part) => isWithin(range, part))
    if (!isWithin(range, block.range) || isShut) return []
    return [{ range, except: block.except.filter((part) => isWithin(part, range)) }]
  })

/** Returns a range of IPv4 as the part of a range of IPv6 that translators give to it. */
export const translated = (
  { start, bits }: AddressRange,
  { start: prefix, bits: length }: AddressRange,
): AddressRange => ({
  version: 6,
  start: prefix | (start << BigInt(WIDTHS[6] - length - WIDTHS[4])),
  bits: length + bits,
})

function cut({ version, start, bits }: AddressRange): AddressRange {
  const rest = BigInt(WIDTHS[version] - bits)
  return { version, start: (start >> rest) << rest, bits }
}

function plain(range: AddressRange): AddressRange {
  const { version, start, bits } = range
  const isMapped = version === 6 && bits >= MAPPED.bits && start >> 32n === MAPPED.prefix >> 32n
  return isMapped ? { version: 4, start: start - MAPPED.prefix, bits: bits - MAPPED.bits } : range
}

/** A URL has an IPv6 address in its shortest form, in hexadecimal digits alone. */
function groupsOf(address: string): readonly string[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')))
  const [before = [], after = []] = [first, last]
  const gap = tail === undefined ? 0 : GROUPS - before.length - after.length
  return [...before, ...Array<string>(gap).fill('0'), ...after]
}

const toNumber = (parts: readonly string[], radix: 10 | 16): bigint =>
  parts.reduce(
    (sum, part) => (sum << (radix === 10 ? 8n : 16n)) + BigInt(Number.parseInt(part, radix)),
    0n,
  )

const partsOf = (
  number: bigint,
  { count, bits }: { readonly count: number; readonly bits: number },
): readonly bigint[] =>
  Array.from({ length: count }, (_, index) =>
    BigInt.asUintN(bits, number >> BigInt(bits * (count - 1 - index))),
  )
