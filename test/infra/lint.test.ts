import { describe, expect, it } from 'vitest'
import { EXCEPTIONS } from './support/lint-exceptions.ts'
import { KUBE_LINTER, KUBE_SCORE } from './support/lint-rules.ts'
import * as overrides from './support/overrides.ts'
import { manifests } from './support/platform.ts'

const samples = Object.entries({ defaults: {}, ...overrides })

describe.each(samples)('with the %s values', (_, values) => {
  const objects = manifests(values)
  it.each(Object.entries({ ...KUBE_LINTER, ...KUBE_SCORE }))('finds no %s', (name, rule) => {
    expect(rule(objects).filter((fault) => !EXCEPTIONS[name]?.test(fault))).toEqual([])
  })
})

describe('the exceptions', () => {
  it('are all needed', () => {
    const objects = manifests(overrides.production)
    for (const name of Object.keys(EXCEPTIONS)) {
      const rule = KUBE_LINTER[name] ?? KUBE_SCORE[name]
      expect(rule?.(objects).length, name).toBeGreaterThan(0)
    }
  })
})
