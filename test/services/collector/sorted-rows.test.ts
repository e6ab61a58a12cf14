import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRowBuffer, noteRow } from '../../../services/collector/otlp/row-buffer.ts'
import { ROW_SPAN_ID, ROW_TRACE_ID } from '../../../services/collector/otlp/span-columns.ts'
import { rowIds, sortedRows } from '../../../services/collector/storage/sorted-rows.ts'

const ROW_BYTES = ROW_SPAN_ID + 8

interface Key {
  readonly time: number
  readonly traceId: Uint8Array
  readonly spanId: bigint
}

/** Few values, so that many are equal, and some that differ in their last bits only. */
const id = fc
  .tuple(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.constantFrom(0, 3, 0x90))
  .map(([first, last]) => Uint8Array.of(first, ...Array.from({ length: 14 }, () => 7), last))
const signed = fc.constantFrom(-(2n ** 63n), -1n, 0n, 1n, 2n ** 63n - 1n)
const near = fc.integer({ min: 8e14, max: 8e14 + 50 })
/** Further apart than one number has room for beside the ids. */
const far = fc.constantFrom(-(2 ** 52), -1, 0, 8e14, 8e14 + 1, 2 ** 53 - 1)

const keys = (time: fc.Arbitrary<number>) =>
  fc.array(fc.record({ time, traceId: id, spanId: signed }), { maxLength: 60 })

function bufferOf(given: readonly Key[]) {
  const buffer = createRowBuffer(Buffer.alloc(ROW_BYTES * given.length))
  for (const { time, traceId, spanId } of given) {
    buffer.bytes.set(traceId, buffer.end + ROW_TRACE_ID)
    buffer.bytes.writeBigInt64BE(spanId, buffer.end + ROW_SPAN_ID)
    noteRow(buffer, buffer.end, time)
    buffer.end += ROW_BYTES
  }
  return buffer
}

/** The order of the primary key: uuids by their bytes, span ids as signed numbers. */
const inOrder = (a: Key, b: Key): number =>
  a.time - b.time || Buffer.compare(a.traceId, b.traceId) || Number(a.spanId - b.spanId)

describe('the rows of a batch', () => {
  it.each([
    ['close together', near],
    ['far apart', far],
  ])('are written in the order of their keys, with times %s', (_, time) => {
    fc.assert(
      fc.property(keys(time), (given) => {
        const buffer = bufferOf(given)
        const sorted = [...sortedRows(buffer)].map((row) => ({
          time: buffer.startTimes[row],
          traceId: rowIds(buffer, row).traceId.toString('hex'),
          spanId: rowIds(buffer, row).spanId.readBigInt64BE(),
        }))
        expect(sorted).toEqual(
          given
            .toSorted(inOrder)
            .map((key) => ({ ...key, traceId: Buffer.from(key.traceId).toString('hex') })),
        )
      }),
    )
  })
})
