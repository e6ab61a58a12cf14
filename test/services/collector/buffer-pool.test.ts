import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createBufferPool } from '../../../services/collector/buffer-pool.ts'

const KiB = 1024

it('never hands out memory that is in use, nor less than was asked for', () => {
  const steps = fc.array(
    fc.record({ size: fc.integer({ min: 0, max: 400 * KiB }), gives: fc.nat(9) }),
    { maxLength: 60 },
  )
  fc.assert(
    fc.property(steps, (list) => {
      const pool = createBufferPool(600 * KiB)
      const used: Buffer[] = []
      for (const { size, gives } of list) {
        const buffer = pool.take(size)
        expect(buffer.length).toBeGreaterThanOrEqual(size)
        const isShared = used.some(
          (other) => other.buffer === buffer.buffer && buffer.length >= 64 * KiB,
        )
        expect(isShared).toBe(false)
        used.push(buffer)
        const [given] = used.splice(gives, 1)
        if (given) pool.give(given.subarray(0, given.length >> 1))
      }
    }),
  )
})

it('uses again what fits, and keeps no more than its limit', () => {
  const pool = createBufferPool(300 * KiB)
  const first = pool.take(200 * KiB)
  pool.give(first.subarray(0, 10))
  expect(pool.take(150 * KiB).buffer).toBe(first.buffer)
  pool.give(first)
  expect(pool.take(100 * KiB).buffer).not.toBe(first.buffer)
  pool.give(Buffer.allocUnsafeSlow(250 * KiB))
  expect(pool.take(200 * KiB).buffer).not.toBe(first.buffer)
})
