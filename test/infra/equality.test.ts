import { describe, it } from 'vitest'
import { checkEquality, SETS } from './support/equality.ts'

describe('the chart and the manifests (npm run test:long -- fuzz tries 5,000 sets)', () => {
  it(`are the same objects for ${SETS} random sets of values with PostgreSQL inside`, () => {
    checkEquality({ postgres: true, numRuns: SETS })
  }, 180_000)
})
