import type { CopyStream } from './copy-connection.ts'
import { int32 } from './wire-messages.ts'

/** The beginning of COPY BINARY. */
export const COPY_HEADER = Buffer.concat([
  Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'),
  Buffer.alloc(8),
])
/** The end of COPY BINARY. */
export const COPY_TRAILER = Buffer.from([0xff, 0xff])

const NO_ROW = -1

/** Rows, whole or in parts, between their beginning and their end. */
export function streamOf(rows: readonly Buffer[]): CopyStream {
  const data = Buffer.concat([COPY_HEADER, ...rows, COPY_TRAILER])
  return { size: data.length, chunks: () => [data] }
}

/** A field with its length; undefined for null. */
export const field = (value: Buffer | undefined): Buffer[] =>
  value ? [int32(value.length), value] : [int32(-1)]

/**
 * Where the row of a message that is copied out begins. The header comes with the first row; the
 * end of all rows is a message of its own and has none.
 */
export function beginOfRow(message: Buffer): number | undefined {
  const isFirst = message.subarray(0, COPY_HEADER.length).equals(COPY_HEADER)
  const at = isFirst ? COPY_HEADER.length : 0
  return message.length === at || message.readInt16BE(at) === NO_ROW ? undefined : at
}
