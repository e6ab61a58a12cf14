/** Reading protobuf. Places are addresses; a place of 0 says that the message is not an ordinary one. */

/** Where the varint that was read last ends. */
export let after: usize = 0

/** A varint. One that is cut off runs over the message's end, which its reader has to notice. */
export function readVarint(at: usize): u64 {
  const first = <u64>load<u8>(at)
  if (first < 0x80) {
    after = at + 1
    return first
  }
  return readLongVarint(at)
}

function readLongVarint(at: usize): u64 {
  let value: u64 = 0
  for (let shift: u64 = 0; shift < 70; shift += 7) {
    const byte = <u64>load<u8>(at++)
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) {
      after = at
      return value
    }
  }
  // Too long for a varint: let it end beyond any message.
  after = usize.MAX_VALUE
  return u64.MAX_VALUE
}

/** Where the field whose length lies at `at` ends, within `end`; its content begins at `after`. 0 for a bad length. */
export function readEnd(at: usize, end: usize): usize {
  const length = readVarint(at)
  if (after > end || length > <u64>(end - after)) return 0
  return after + <usize>length
}
