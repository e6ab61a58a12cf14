import { describe, expect, it } from 'vitest'
import { moveBytes } from '../../../../services/collector/server/move-bytes.ts'

const canFree = 'transfer' in ArrayBuffer.prototype
if (!canFree) process.stdout.write('Node before 22 gives memory back later: a test is skipped\n')

describe('bytes that are moved', () => {
  it('are copied to their place', () => {
    const place = Buffer.alloc(8, '.')
    expect(moveBytes(Buffer.from('abc'), place, 2)).toBe(3)
    expect(place.toString()).toBe('..abc...')
  })

  it('leave the memory of a chunk that is a part of it', () => {
    const whole = Buffer.allocUnsafeSlow(65_536).fill('x')
    moveBytes(whole.subarray(1), Buffer.alloc(65_536), 0)
    expect(whole.equals(Buffer.alloc(65_536, 'x'))).toBe(true)
  })

  it.runIf(canFree)('give the memory of a large chunk back that has all of it', () => {
    const chunk = Buffer.allocUnsafeSlow(65_536).fill('x')
    moveBytes(chunk, Buffer.alloc(65_536), 0)
    expect(chunk.buffer.byteLength).toBe(0)
  })

  it('can be none', () => {
    expect(moveBytes(Buffer.alloc(0), Buffer.alloc(1), 0)).toBe(0)
  })
})
