import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createMemory } from '../../../services/collector/otlp/memory.ts'

const KiB = 1024

interface Held {
  readonly buffer: Buffer
  readonly mark: number
}

it('never hands out memory that is in use, nor more than there is, and gets all of it back', () => {
  const step = fc.record({
    size: fc.oneof(fc.integer({ min: 0, max: 90 * KiB }), fc.integer({ min: 0, max: 1500 * KiB })),
    place: fc.nat(9),
    isBody: fc.boolean(),
    act: fc.constantFrom('keep', 'give', 'trim'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const memory = createMemory(4096 * KiB)
      const held: Held[] = []
      steps.forEach(({ size, place, isBody, act }, mark) => {
        const buffer = isBody ? memory.takeForBody(size) : memory.take(size)
        if (buffer) held.push({ buffer: buffer.fill(mark), mark })
        const found = act === 'keep' ? undefined : held.splice(place, 1)[0]
        if (found && act === 'give') memory.give(found.buffer.subarray(0, size))
        if (found && act === 'trim') {
          held.push({ ...found, buffer: memory.trim(found.buffer, found.buffer.length >> 1) })
        }
        if (memory.used() > memory.capacity) throw new Error('it gave more than it has')
      })
      for (const one of held)
        expect(one.buffer.equals(Buffer.alloc(one.buffer.length, one.mark))).toBe(true)
      for (const { buffer } of held) memory.give(buffer)
      expect(memory.used()).toBe(0)
      expect(memory.take(4096 * KiB)?.length).toBe(4096 * KiB)
    }),
  )
})

it('leaves the memory of others alone', () => {
  const memory = createMemory(64 * KiB)
  const foreign = Buffer.alloc(10)
  memory.give(foreign)
  expect(memory.trim(foreign, 4)).toEqual(foreign.subarray(0, 4))
  expect(memory.used()).toBe(0)
})
