import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRowBuffer, noteRow } from '../../../services/collector/otlp/row-buffer.ts'
import {
  ROW_ORGANIZATION,
  ROW_ORGANIZATION_LENGTH,
  ROW_SPAN_ID,
  ROW_TRACE_ID,
} from '../../../services/collector/otlp/span-columns.ts'
import { rowIds, rowKey, sortedRows } from '../../../services/collector/store/spans/sorted-rows.ts'

const MAX_ROW_BYTES = ROW_ORGANIZATION + 4

interface Key {
  readonly time: number
  readonly traceId: Uint8Array
  readonly spanId: bigint
  readonly organization: string
}

/** Few values, so that many are equal, and some that differ in their last bits only. */
const id = fc
  .tuple(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.constantFrom(0, 3, 0x90))
  .map(([first, last]) => Uint8Array.of(first, ...Array.from({ length: 14 }, () => 7), last))
const signed = fc.constantFrom(-(2n ** 63n), -1n, 0n, 1n, 2n ** 63n - 1n)
const owner = fc.constantFrom('', 'a', 'ab', 'b', 'ü')
const near = fc.integer({ min: 8e14, max: 8e14 + 50 })
/** Further apart than one number has room for beside the ids. */
const far = fc.constantFrom(-(2 ** 52), -1, 0, 8e14, 8e14 + 1, 2 ** 53 - 1)

const keys = (time: fc.Arbitrary<number>) =>
  fc.array(fc.record({ time, traceId: id, spanId: signed, organization: owner }), {
    maxLength: 60,
  })

function bufferOf(given: readonly Key[]) {
  const buffer = createRowBuffer(Buffer.alloc(MAX_ROW_BYTES * given.length))
  const { bytes } = buffer
  for (const { time, traceId, spanId, organization } of given) {
    bytes.set(traceId, buffer.end + ROW_TRACE_ID)
    bytes.writeBigInt64BE(spanId, buffer.end + ROW_SPAN_ID)
    const size = bytes.write(organization, buffer.end + ROW_ORGANIZATION)
    bytes.writeInt32BE(size, buffer.end + ROW_ORGANIZATION_LENGTH)
    noteRow(buffer, buffer.end, time)
    buffer.end += ROW_ORGANIZATION + size
  }
  return buffer
}

/** An order of the keys: uuids and owners by their bytes, span ids as signed numbers. */
const inOrder = (a: Key, b: Key): number =>
  a.time - b.time ||
  Buffer.compare(a.traceId, b.traceId) ||
  Number(a.spanId - b.spanId) ||
  Buffer.compare(Buffer.from(a.organization), Buffer.from(b.organization))

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
          organization: rowIds(buffer, row).organization,
        }))
        expect(sorted).toEqual(
          given
            .toSorted(inOrder)
            .map((key) => ({ ...key, traceId: Buffer.from(key.traceId).toString('hex') })),
        )
      }),
    )
  })

  it('have one key each, which only those of one identity share', () => {
    fc.assert(
      fc.property(keys(fc.constant(0)), (given) => {
        const buffer = bufferOf(given)
        const found = new Set(given.map((_, row) => rowKey(buffer, row)))
        const wanted = given.map(({ traceId, spanId, organization }) =>
          [Buffer.from(traceId).toString('hex'), spanId, organization].join(' '),
        )
        expect(found.size).toBe(new Set(wanted).size)
      }),
    )
  })
})
