import { describe, expect, it } from 'vitest'
import { CHECKS } from './support/kubernetes-schema.ts'

describe.each(Object.entries(CHECKS))('the types of Kubernetes %s', (_, check) => {
  const service = (spec: object): unknown => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'a' },
    spec,
  })

  it('take a whole object', () => {
    expect(check(service({ ports: [{ port: 80, targetPort: 'http' }] }))).toEqual([])
  })

  it.each([
    ['an unknown field', { prots: [] }, ['Service.spec.prots: unknown field']],
    ['a missing field', { ports: [{ name: 'http' }] }, ['Service.spec.ports.0.port: is missing']],
    [
      'a text for a number',
      { ports: [{ port: '80' }] },
      [expect.stringContaining('expected number')],
    ],
    ['a map for a list', { ports: { port: 80 } }, ['Service.spec.ports: expected a list']],
    ['a list for a map', { selector: ['a'] }, ['Service.spec.selector: expected a map']],
    ['a number for a text', { selector: { a: 1 } }, [expect.stringContaining('expected string')]],
  ])('refuse %s', (_case, spec, problems) => {
    expect(check(service(spec))).toEqual(problems)
  })

  it('refuse a kind that there is not', () => {
    expect(check({ apiVersion: 'v1beta1', kind: 'Service' })).toEqual([
      'v1beta1 Service: unknown kind',
    ])
  })
})
