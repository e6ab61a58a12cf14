import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import { schema } from '../../infra/values.ts'
import { arbitraryValues } from './support/arbitrary-values.ts'
import { parseBlockYaml } from './support/block-yaml.ts'
import { parseYaml, RELEASE, renderedTexts } from './support/platform.ts'
import { sensible } from './support/sensible-values.ts'

describe('the reader that the equality tests use', () => {
  it('reads every rendered template as a whole YAML parser does', () => {
    const samples = fc.sample(
      arbitraryValues(schema).map((random) => sensible(random)),
      { numRuns: 12, seed: 7 },
    )
    for (const values of [{}, ...samples]) {
      for (const text of renderedTexts(contextOf([values], RELEASE))) {
        expect([parseBlockYaml(text)].filter((object) => object !== null)).toEqual(parseYaml(text))
      }
    }
  })

  it.each([
    ['a key that stands twice', 'a: 1\na: 2\n'],
    ['an entry that is no entry', 'a: 1\nb\n'],
    ['a level that does not close', 'a:\n    b: 1\n  c: 2\n'],
  ])('refuses %s', (_, text) => {
    expect(() => parseBlockYaml(text)).toThrow()
  })
})
