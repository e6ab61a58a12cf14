import { createHash } from 'node:crypto'

const LINE_FEED = 0x0a
const LANE_BYTES = 4

/**
 * A checksum of rows in any order: the sum of their hashes. PostgreSQL stores a row where there is
 * room for it, so a table that was restored may give the same rows in another order.
 */
export interface RowChecksum {
  /** Adds whole rows, each with a line feed at its end. */
  add(rows: Buffer): void
  /** Returns the sum in hexadecimal digits. */
  value(): string
}

/** Creates the checksum of no row. */
export function createRowChecksum(): RowChecksum {
  const lanes = new Uint32Array(8)
  const addRow = (row: Buffer): void => {
    const digest = createHash('sha256').update(row).digest()
    for (const [lane, sum] of lanes.entries())
      lanes[lane] = sum + digest.readUInt32LE(lane * LANE_BYTES)
  }
  return {
    add(rows) {
      for (let from = 0; from < rows.length;) {
        const end = rows.indexOf(LINE_FEED, from)
        const next = end === -1 ? rows.length : end + 1
        addRow(rows.subarray(from, next))
        from = next
      }
    },
    value: () => Buffer.from(lanes.buffer).toString('hex'),
  }
}
