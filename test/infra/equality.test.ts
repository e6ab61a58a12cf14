import { describe, it } from 'vitest'
import { checkEquality, SETS } from './support/equality.ts'

<<<<<<< HEAD
describe('the chart and the plain manifests (npm run test:fuzz tries 5,000 sets)', () => {
  it(`are the same objects for ${SETS} random sets with PostgreSQL in the cluster`, () => {
=======
describe('the chart and the manifests (npm run test:fuzz tries 5,000 sets)', () => {
  it(`are the same objects for ${SETS} random sets of values with PostgreSQL inside`, () => {
>>>>>>> main
    checkEquality({ postgres: true, numRuns: SETS })
  }, 120_000)
})
