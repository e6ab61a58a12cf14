import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import { ValuesError } from '../../infra/template/values-error.ts'
import { schema } from '../../infra/values.ts'
import { arbitraryValues } from './support/arbitrary-values.ts'
import { uncheckedContext } from './support/equality.ts'
import { RELEASE, validationOf } from './support/platform.ts'

describe('the chart and synth', () => {
  it('refuse the same combinations of values, with the same words', () => {
    fc.assert(
      fc.property(arbitraryValues(schema), (random) => {
        const bySynth = messagesOf(() => contextOf([random], RELEASE))
        const byChart = messagesOf(() => validationOf(uncheckedContext(random)))
        expect(byChart).toEqual(bySynth.map((message) => message.replace(/ \(.*$/s, '')))
      }),
      { numRuns: 60 },
    )
  }, 180_000)
})

function messagesOf(action: () => unknown): readonly string[] {
  try {
    action()
    return []
  } catch (thrown) {
    if (thrown instanceof ValuesError) return thrown.mistakes
    if (!(thrown instanceof Error) || !thrown.message.startsWith('The values')) throw thrown
    return thrown.message.split('\n  - ').slice(1)
  }
}
