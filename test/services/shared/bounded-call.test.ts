import { expect, it } from 'vitest'
import { callBounded, isOverdue } from '../../../services/shared/bounded-call.ts'

it('ends a call that keeps a core busy', () => {
  let calls = 0
  const endless = (): never => {
    calls += 1
    for (;;) Math.sqrt(calls)
  }
  expect(() => callBounded(200, endless)).toThrow(expect.toSatisfy(isOverdue))
  // One where it had the core.
  expect(calls).toBeLessThanOrEqual(3)
})

it('tries a call again that had no core, a few times', () => {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  let calls = 0
  const waits = (times: number) => (): string => {
    if ((calls += 1) <= times) Atomics.wait(cell, 0, 0, 2000)
    return 'done'
  }
  expect(callBounded(200, waits(1))).toBe('done')
  expect(calls).toBe(2)
  calls = 0
  expect(() => callBounded(100, waits(9))).toThrow(expect.toSatisfy(isOverdue))
  expect(calls).toBe(3)
})

it('raises what the call raises', () => {
  const fails = () => {
    throw new RangeError('no')
  }
  expect(() => callBounded(100, fails)).toThrow(new RangeError('no'))
})
