import { createHash } from 'node:crypto'

const LINE_FEED = 0x0a
const LANE_BYTES = 4

/**
 * A checksum of rows in any order: the sum of their hashes. PostgreSQL stores a row where there is
 * room for it, so a table that was restored may give the same rows in another order.
 */
interface RowChecksum {
  /** Adds whole rows, each with a line feed at its end. */
  add(rows: Buffer): void
  /** Returns the number of rows, and the sum in hexadecimal digits. */
  value(): { readonly rows: number; readonly checksum: string }
}

/** Creates the checksum of no row. */
export function createRowChecksum(): RowChecksum {
  const lanes = new Uint32Array(8)
  let count = 0
  const addRow = (row: Buffer): void => {
    const digest = createHash('sha256').update(row).digest()
    count += 1
    for (const [lane, sum] of lanes.entries())
      lanes[lane] = sum + digest.readUInt32LE(lane * LANE_BYTES)
  }
  return {
    add(rows) {
      for (const row of rowsOf(rows)) addRow(row)
    },
    value: () => ({ rows: count, checksum: Buffer.from(lanes.buffer).toString('hex') }),
  }
}

/** Takes rows apart, of which each keeps its line feed. */
export function* rowsOf(rows: Buffer): Generator<Buffer> {
  for (let from = 0; from < rows.length;) {
    const end = rows.indexOf(LINE_FEED, from)
    const next = end === -1 ? rows.length : end + 1
    yield rows.subarray(from, next)
    from = next
  }
}
