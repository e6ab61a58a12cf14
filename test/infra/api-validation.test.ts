import { describe, expect, it } from 'vitest'
import { isBuilt, validate, problemsOfRandomValues, streamOf } from './support/api-validation.ts'
import { parseYaml, sorted } from './support/platform.ts'
import * as overrides from './support/overrides.ts'
import { TAKEN_BY_KUBERNETES } from './support/refused-values.ts'

if (!isBuilt()) {
  console.log(
    "Kubernetes' own validation is skipped: npm run test:fuzz builds it where there is Go.",
  )
}

describe.skipIf(!isBuilt())("the validation of Kubernetes' API server", () => {
  it.each<readonly [string, object]>([
    ['the defaults', {}],
    ...Object.entries(overrides),
    ...TAKEN_BY_KUBERNETES,
  ])('takes the manifests of %s, and reads the same objects from their bytes', (_, values) => {
    const stream = streamOf(values)
    const [verdict] = validate([stream])
    expect(verdict?.problems).toEqual([])
    expect(sorted(verdict?.objects ?? [])).toEqual(sorted(parseYaml(stream)))
  })

  it('takes the manifests of 25 random sets of values', () => {
    expect(problemsOfRandomValues(25)).toEqual([])
  }, 180_000)

  it('refuses what it should', () => {
    const stream = streamOf({}).replace('kind: Deployment\n', 'kind: Deployment\nmisspelt: true\n')
    expect(validate([stream])[0]?.problems).toEqual([expect.stringContaining('misspelt')])
  })
})
