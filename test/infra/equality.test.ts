import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextOf, platformManifests } from '../../infra/render.ts'
import { ValuesError } from '../../infra/template/values-error.ts'
import { schema } from '../../infra/values.ts'
import { arbitraryValues } from './support/arbitrary-values.ts'
import { chartObjects, RELEASE, sorted } from './support/platform.ts'
import { sensible } from './support/sensible-values.ts'

const numRuns = Number(process.env['FUZZ_RUNS'] ?? 500)
const values = arbitraryValues(schema)

describe('the chart and the plain manifests', { timeout: 200 * numRuns }, () => {
  it(`are the same objects for any values (${numRuns} random sets with hostile texts)`, () => {
    fc.assert(
      fc.property(values.map(sensible), (random) => {
        const context = contextOf([random], RELEASE)
        expect(sorted(chartObjects(context))).toEqual(sorted(platformManifests(context)))
      }),
      { numRuns },
    )
  })

  it('refuse the same combinations of values, with the same words', () => {
    fc.assert(
      fc.property(values, (random) => {
        const bySynth = messagesOf(() => contextOf([random], RELEASE))
        const byChart = messagesOf(() => chartObjects(uncheckedContext(random)))
        expect(byChart).toEqual(bySynth.map((message) => message.replace(/ \([^()]*\)$/, '')))
      }),
      { numRuns: Math.ceil(numRuns / 5) },
    )
  })
})

function uncheckedContext(random: Record<string, unknown>) {
  const base = contextOf([], RELEASE)
  return { ...base, Values: JSON.parse(JSON.stringify(random)) }
}

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
