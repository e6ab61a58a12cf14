import { beforeAll, describe, expect, it } from 'vitest'
import { isBuilt, validate, problemsOfRandomValues, streamOf } from './support/api-validation.ts'
import type { Verdict } from './support/api-validation.ts'
import { parseYaml, sorted } from './support/platform.ts'
import { isLong } from '../support/long.ts'
import { together } from './support/helm.ts'
import type { NamedSet } from './support/helm.ts'
import * as overrides from './support/overrides.ts'
import { TAKEN_BY_KUBERNETES } from './support/refused-values.ts'

if (!isBuilt()) {
  console.log(
    "Kubernetes' own validation is skipped: npm run test:long -- fuzz builds it where there is Go.",
  )
}

const nameSet = ([name, values]: readonly [string, object, ...unknown[]]): NamedSet => ({
  name,
  values,
})

describe.skipIf(!isBuilt())("the validation of Kubernetes' API server", () => {
  const sets: readonly NamedSet[] = [
    { name: 'the defaults', values: {} },
    ...Object.entries(overrides).map(nameSet),
    ...(isLong ? TAKEN_BY_KUBERNETES.map(nameSet) : together(TAKEN_BY_KUBERNETES)),
  ]
  let streams: string[]
  let verdicts: readonly Verdict[]
  beforeAll(() => {
    streams = sets.map(({ values }) => streamOf(values))
    verdicts = validate(streams)
  })

  it.each(sets.map(({ name }, index) => ({ name, index })))(
    'takes the manifests of $name, and reads the same objects from their bytes',
    ({ index }) => {
      const { problems, objects = [] } = verdicts[index] ?? {}
      expect(problems).toEqual([])
      expect(sorted(objects)).toEqual(sorted(parseYaml(streams[index] ?? '')))
    },
  )

  it('takes the manifests of 5 random sets of values (npm run test:long -- fuzz: of 1,000)', () => {
    expect(problemsOfRandomValues(5)).toEqual([])
  }, 180_000)

  it('refuses what it should', () => {
    const stream = streamOf({}).replace('kind: Deployment\n', 'kind: Deployment\nmisspelt: true\n')
    expect(validate([stream])[0]?.problems).toEqual([expect.stringContaining('misspelt')])
  })
})
