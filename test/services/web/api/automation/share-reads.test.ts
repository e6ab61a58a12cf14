import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shareReads } from '../../../../../services/web/api/automation/event-page.ts'

/** Something that changes while it is read: what is read is how it was when the reading began. */
function openCounter(key: string) {
  let value = 0
  let readings = 0
  let end = (): void => {}
  const read = shareReads(async (asked: string) => {
    expect(asked).toBe(key)
    readings += 1
    const seen = value
    await new Promise<void>((resolve) => (end = resolve))
    if (seen % 5 === 4) throw new Error(`not ${seen}`)
    return seen
  })
  return {
    change: () => void (value += 1),
    read: () => ({ since: value, answer: read(key).catch((error: Error) => error) }),
    async endReading() {
      end()
      // Whoever waits for it goes on, and the next one begins.
      for (let turns = 0; turns < 10; turns += 1) await Promise.resolve()
    },
    readings: () => readings,
  }
}

describe('shareReads', () => {
  const steps = fc.array(fc.constantFrom('change', 'read', 'end'), { maxLength: 60 })

  it('never answers with what was there before a reader came', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (names) => {
        const counter = openCounter('a')
        const reads: ReturnType<typeof counter.read>[] = []
        for (const name of names) {
          if (name === 'change') counter.change()
          else if (name === 'read') reads.push(counter.read())
          else await counter.endReading()
        }
        for (let left = 0; left < 2; left += 1) await counter.endReading()
        for (const { since, answer } of reads) {
          const seen = await answer
          if (seen instanceof Error)
            expect(Number(seen.message.slice(4))).toBeGreaterThanOrEqual(since)
          else expect(seen).toBeGreaterThanOrEqual(since)
        }
      }),
    )
  })

  it('reads twice for a thousand who come at the same time, in each round', async () => {
    const counter = openCounter('a')
    for (let round = 1; round <= 3; round += 1) {
      counter.change()
      const reads = Array.from({ length: 1000 }, counter.read)
      await counter.endReading()
      await counter.endReading()
      expect(new Set(await Promise.all(reads.map(({ answer }) => answer)))).toEqual(
        new Set([round]),
      )
      expect(counter.readings()).toBe(2 * round)
    }
  })
})
