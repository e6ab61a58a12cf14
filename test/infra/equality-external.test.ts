import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import { mergeOverrides } from '../../infra/template/merge.ts'
import { schema } from '../../infra/values.ts'
import { arbitraryValues } from './support/arbitrary-values.ts'
import { checkEquality, SETS } from './support/equality.ts'
import { RELEASE } from './support/platform.ts'
import { sensible } from './support/sensible-values.ts'

/** All that opens ports beside others. */
const ALL_PORTS = { collector: { grpc: { enabled: true } }, dbProxy: { enabled: true } }

describe('the chart and the plain manifests (npm run test:long -- fuzz tries 5,000 sets)', () => {
  it(`are the same objects for ${SETS} random sets with an external PostgreSQL or a proxy`, () => {
    checkEquality({ postgres: false, numRuns: SETS })
  }, 180_000)

  it('are never tried with two ports alike, which the rules refuse', () => {
    const [random = {}] = fc.sample(arbitraryValues(schema), { numRuns: 1, seed: 1 })
    const alike: Record<string, unknown> = JSON.parse(
      JSON.stringify(mergeOverrides([random, ALL_PORTS])),
      (key, value: unknown) => (/port$/i.test(key) && typeof value === 'number' ? 4317 : value),
    )
    const values = sensible(alike, { postgres: false })
    expect(() => contextOf([values], RELEASE)).not.toThrow()
  })
})
