import fc from 'fast-check'

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f']

const taskAt = (index: number) =>
  fc.record(
    {
      key: fc.constant(KEYS[index] ?? ''),
      async: fc.boolean(),
      context: fc.shuffledSubarray(KEYS.slice(0, index)),
    },
    { requiredKeys: ['key'] },
  )

/** Tasks of a crew with any contexts that are allowed. */
export const taskGraphs = fc
  .integer({ min: 1, max: KEYS.length })
  .chain((count) => fc.tuple(...KEYS.slice(0, count).map((_, index) => taskAt(index))))
