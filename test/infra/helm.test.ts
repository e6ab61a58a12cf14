import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import * as overrides from './support/overrides.ts'
import { contextOf, platformFiles } from '../../infra/render.ts'
import { mergeOverrides } from '../../infra/template/merge.ts'
import { schema } from '../../infra/values.ts'
import { few, isLong } from '../support/long.ts'
import { isBuilt, streamOf, validate } from './support/api-validation.ts'
import { anyLines, linesOfParts } from './support/arbitrary-texts.ts'
import { arbitraryValues } from './support/arbitrary-values.ts'
import { helmLint, helms, helmTemplate, isNamed, together, writeChart } from './support/helm.ts'
import { find, RELEASE, tree } from './support/platform.ts'
import { REFUSED_BY_KUBERNETES, TAKEN_BY_KUBERNETES } from './support/refused-values.ts'
import { expectSameObjects } from './support/same-objects.ts'
import { sensible } from './support/sensible-values.ts'

/** Values that are refused, and the key that a refusal names. */
const REFUSED: readonly (readonly [string, object, string])[] = [
  ['an unknown key', { colector: {} }, 'colector'],
  [
    'an unknown key deep down',
    { collector: { config: { retentionWeek: '4' } } },
    'collector.config.retentionWeek',
  ],
  [
    'a word that is not in the list',
    { collector: { image: { pullPolicy: 'Sometimes' } } },
    'collector.image.pullPolicy',
  ],
  [
    'retentionWeeks that are no digits',
    { collector: { config: { retentionWeeks: 'abc' } } },
    'collector.config.retentionWeeks',
  ],
  [
    'retentionWeeks of 0',
    { collector: { config: { retentionWeeks: 0 } } },
    'collector.config.retentionWeeks',
  ],
  ['a port out of range', { collector: { port: 70_000 } }, 'collector.port'],
  ['a text for a number', { collector: { replicaCount: '2' } }, 'collector.replicaCount'],
  ['ports that must differ', { collector: { port: 9090 } }, 'collector.metricsPort'],
  ['a value deleted by null', { collector: { port: null } }, 'collector.port'],
  ['a group deleted by null', { postgres: null }, 'postgres'],
  ['a proxy beside PostgreSQL in the cluster', { dbProxy: { enabled: true } }, 'dbProxy.enabled'],
  [
    'a map entry that is no text',
    { collector: { nodeSelector: { disk: 1 } } },
    'collector.nodeSelector.disk',
  ],
  [
    'a label key that is none',
    { collector: { nodeSelector: { 'a b': 'c' } } },
    'collector.nodeSelector',
  ],
]
const numRuns = Math.ceil(Number(process.env['FUZZ_RUNS'] ?? 50) / 25)
// The versions check a schema alike: one of them is enough where there is little time.
const isThorough = (helm: unknown): boolean => isLong || helm === helms[0]

const ACCEPTED: readonly (readonly [string, object])[] = [
  ...TAKEN_BY_KUBERNETES,
  ['digits that --set turned into a number', { collector: { config: { retentionWeeks: 4 } } }],
  ['a quantity that --set turned into a number', { web: { resources: { limits: { cpu: 2 } } } }],
  ['globals of a parent chart', { global: { image: { registry: 'r.example.com' } } }],
]

if (helms.length === 0) {
  console.log('No helm on the PATH: the chart is checked with our own evaluator only.')
}

describe.skipIf(helms.length === 0)('a real helm', () => {
  it('is there', () => expect(helms).not.toEqual([]))
})

/**
 * Values without line and paragraph separators: go-yaml breaks lines at them, and of parsers only
 * itself reads such a line as it was. The test of several lines below reads them with go-yaml.
 */
const withoutSeparators = (values: unknown): unknown =>
  JSON.parse(JSON.stringify(values).replaceAll(/[\u2028\u2029]/g, ' '))

describe.each(helms)('helm $version', { timeout: 180_000 + 2000 * numRuns }, (helm) => {
  const { command } = helm
  let chartPath = ''
  beforeAll(() => {
    chartPath = writeChart()
  })

  const expectSame = (values: unknown): void => {
    const files = platformFiles(contextOf([values], { ...RELEASE, service: 'Helm' }), tree)
    const manifests = [...files.values()].join('---\n')
    expectSameObjects(helmTemplate({ command, chartPath }, values, RELEASE), manifests)
  }

  it('has nothing to say against the chart', () => {
    expect(helmLint(helm, chartPath)).toContain('0 chart(s) failed')
  })

  const known = Object.entries(overrides)
  it.each(few(known, isThorough(helm) ? 3 : 1))(
    'renders the objects of the %s overrides',
    (_, values) => expectSame(values),
  )

  if (!isThorough(helm)) return

  it(`renders the same objects as synth for any values (${numRuns} random sets)`, () => {
    fc.assert(
      fc.property(
        arbitraryValues(schema).map((random) => withoutSeparators(sensible(random))),
        expectSame,
      ),
      { numRuns },
    )
  })

  // Read as Kubernetes reads: go-yaml leaves texts bare that other parsers take for mappings.
  it.skipIf(!isBuilt())('keeps texts of several lines in parts, annotations and scripts', () => {
    const textsOf = (texts: fc.Arbitrary<string>): Record<string, string> =>
      Object.fromEntries(fc.sample(texts, 200).map((text, index) => [`k${index}`, text]))
    const [data, notes] = [textsOf(linesOfParts), textsOf(anyLines)]
    const config = 'first \n\n  second\t\nthird  \n'
    const metadata = { name: 'demo-mine', namespace: 'prod' }
    const values = {
      commonAnnotations: notes,
      buildkit: { config },
      extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }],
    }
    const streams = [helmTemplate({ command, chartPath }, values, RELEASE), streamOf(values)]
    for (const { objects } of validate(streams)) {
      expect(find(objects, 'ConfigMap', 'mine').data).toEqual(data)
      expect(find(objects, 'Service', 'web').metadata.annotations).toMatchObject(notes)
      expect(find(objects, 'ConfigMap', 'buildkit').data['buildkitd.toml']).toContain(config.trim())
    }
  })

  it('merges value files as synth does: maps merge, lists replace', () => {
    const files = [
      {
        collector: { nodeSelector: { a: '1', b: '1' }, tolerations: [{ key: 'a' }, { key: 'b' }] },
      },
      { collector: { nodeSelector: { b: '2' }, tolerations: [{ key: 'c' }] } },
    ]
    expectSame(mergeOverrides(files))
  })

  // Helm 4 removes a null before it looks, wherever it stands.
  const refused = [
    ...REFUSED,
    ...REFUSED_BY_KUBERNETES.filter(
      ([, values]) => !helm.version.startsWith('v4') || !JSON.stringify(values).includes('null'),
    ),
  ]

  const refusalOf = (values: object): string => {
    try {
      return `accepts: ${helmTemplate({ command, chartPath }, values, RELEASE)}`
    } catch (thrown) {
      return String(thrown)
    }
  }

  it.runIf(isLong).each(refused)('refuses %s, as synth does', (_, values) => {
    expect(refusalOf(values)).not.toMatch(/^accepts/)
  })

  it('refuses what synth refuses, and says which (with FUZZ_RUNS each alone)', () => {
    let left = refused
    while (left.length > 0) {
      const refusal = refusalOf(together(left)[0]?.values ?? {})
      // What the schema refuses hides what the rules would.
      const others = left.filter(([, values, key]) => !isNamed(refusal, key, values))
      expect(others.length, `${left[0]?.[0]}: ${refusal}`).toBeLessThan(left.length)
      left = others
    }
  })

  it.each(isLong ? ACCEPTED.map(([name, values]) => ({ name, values })) : together(ACCEPTED))(
    'accepts $name, as synth does',
    ({ values }) => expectSame(values),
  )
})

describe('synth', () => {
  it.each(REFUSED)('refuses %s', (_, values) => {
    expect(() => contextOf([values], RELEASE)).toThrow('The values are not valid')
  })
})
