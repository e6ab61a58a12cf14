import { parse } from 'yaml'
import { describe, expect, it } from 'vitest'
import { contextOf, platformFiles, platformManifests } from '../../infra/render.ts'
import { chartStream, RELEASE, tree } from '../infra/support/platform.ts'
import { uncheckedContext } from '../infra/support/equality.ts'
import { CHECKS } from '../infra/support/kubernetes-schema.ts'
import { expectSameObjects } from '../infra/support/same-objects.ts'
import { blocksOf } from './documents.ts'
import { mergeOverrides } from '../../infra/template/merge.ts'

const EXAMPLES = ['docs/configure.md', 'docs/install.md']
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'yaml')

describe('the values in the manual', () => {
  it.each(EXAMPLES.map(({ code, document }, index) => [index + 1, document, code] as const))(
    'are valid to both readings and to Kubernetes, in example %i of %s',
    (_index, _document, code) => {
      const values: unknown = parse(code)
      const context = contextOf([values], RELEASE)
      const objects = platformManifests(context, tree)
      // Objects of the operator's own may be of kinds that a cluster gets from elsewhere.
      const faults = Object.values(CHECKS)
        .flatMap((check) => objects.flatMap(check))
        .filter((fault) => !fault.endsWith('unknown kind'))
      expect(faults).toEqual([])
      const given = mergeOverrides([contextOf([], RELEASE)['Values'], values])
      const files = [...platformFiles(context, tree).values()]
      expectSameObjects(chartStream(uncheckedContext(asMap(given))), files.join('---\n'))
    },
  )
})

const asMap = (value: unknown) => value as Readonly<Record<string, unknown>>
