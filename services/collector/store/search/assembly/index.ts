/**
 * Signatures of texts, for `../signature.ts`. Eight texts share a group, with a byte for each hash,
 * in which each text has a bit. AssemblyScript: the syntax of TypeScript, the types of WebAssembly.
 */

/** Hashes of three or four letters of a text. */
const MAX_ROWS: usize = 8192
const HASH_BITS: i32 = 8191
const GROUP_TEXTS: i32 = 8
const LANES: i32 = 4
const BLOCK: usize = 16
/** Sums of bytes do not overflow before. */
const COUNTED: usize = 255 * BLOCK

/** A byte for each hash that the text at hand has, in the first bytes of the memory. */
const flags: usize = memory.data(8192, 16)

/**
 * Adds a text of so many units of UTF-16 at `units`, the one with that number of its group. Returns
 * how many hashes it has.
 */
export function addText(units: usize, length: i32, group: usize, nr: i32): i32 {
  memory.fill(flags, 0, MAX_ROWS)
  if (length > 2) store<u8>(flags + (mix(threeAt(units)) & HASH_BITS), 1)
  const end = length - 3
  let at = 0
  for (; at + LANES <= end; at += LANES) addFour(units + (<usize>at << 1))
  for (; at < end; at++) addOne(units + (<usize>at << 1))
  return join(group, GROUP_TEXTS - 1 - nr)
}

/** The hash of the first three of these units. */
@inline
function threeAt(units: usize): i32 {
  const hash = (<i32>load<u16>(units) * 0x9e3779b1) ^ <i32>load<u16>(units, 2)
  return ((hash ^ (hash >>> 15)) * 0x85ebca6b) ^ <i32>load<u16>(units, 4)
}

@inline
function mix(hash: i32): i32 {
  const mixed = (hash ^ (hash >>> 13)) * 0xc2b2ae35
  return mixed ^ (mixed >>> 16)
}

/** Adds the last three of these four units, and all of them. */
@inline
function addOne(units: usize): void {
  const three = threeAt(units + 2)
  store<u8>(flags + (mix(three) & HASH_BITS), 1)
  store<u8>(flags + (mix((three * 0x27d4eb2f) ^ ~(<i32>load<u16>(units))) & HASH_BITS), 1)
}

@inline
function mixLanes(hash: v128): v128 {
  const mixed = i32x4.mul(v128.xor(hash, i32x4.shr_u(hash, 13)), i32x4.splat(0xc2b2ae35))
  return v128.and(v128.xor(mixed, i32x4.shr_u(mixed, 16)), i32x4.splat(HASH_BITS))
}

@inline
function setLanes(rows: v128): void {
  store<u8>(flags + i32x4.extract_lane(rows, 0), 1)
  store<u8>(flags + i32x4.extract_lane(rows, 1), 1)
  store<u8>(flags + i32x4.extract_lane(rows, 2), 1)
  store<u8>(flags + i32x4.extract_lane(rows, 3), 1)
}

/** Does the same as `addOne` from each of four units on. */
@inline
function addFour(units: usize): void {
  const fourth = v128.load_ext<u16>(units)
  const third = v128.load_ext<u16>(units, 2)
  const second = v128.load_ext<u16>(units, 4)
  const first = v128.load_ext<u16>(units, 6)
  const two = v128.xor(i32x4.mul(third, i32x4.splat(0x9e3779b1)), second)
  const spread = v128.xor(two, i32x4.shr_u(two, 15))
  const three = v128.xor(i32x4.mul(spread, i32x4.splat(0x85ebca6b)), first)
  setLanes(mixLanes(three))
  const four = i32x4.mul(three, i32x4.splat(0x27d4eb2f))
  setLanes(mixLanes(v128.xor(four, v128.not(fourth))))
}

/** Gives the flags their bit in the bytes of the group; returns how many there are. */
function join(group: usize, bit: i32): i32 {
  let count = 0
  for (let from: usize = 0; from < MAX_ROWS; from += COUNTED) {
    const end = min(from + COUNTED, MAX_ROWS)
    let counts = i8x16.splat(0)
    for (let at = from; at < end; at += BLOCK) {
      const some = v128.load(flags + at)
      counts = i8x16.add(counts, some)
      v128.store(group + at, v128.or(v128.load(group + at), i8x16.shl(some, bit)))
    }
    const sums = i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(counts))
    count += i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1)
    count += i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3)
  }
  return count
}

/**
 * Writes so many rows at `to`, of a byte for each of so many groups that lie one after the other.
 * With fewer rows the last bits of a hash count.
 */
export function writeRows(groups: usize, width: usize, rows: usize, to: usize): void {
  for (let nr: usize = 0; nr < width; nr++) {
    const group = groups + nr * MAX_ROWS
    for (let at = rows; at < MAX_ROWS; at += BLOCK) {
      const place = group + (at & (rows - 1))
      v128.store(place, v128.or(v128.load(place), v128.load(group + at)))
    }
    for (let row: usize = 0; row < rows; row++) {
      store<u8>(to + row * width + nr, load<u8>(group + row))
    }
  }
}
