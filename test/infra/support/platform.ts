import { parseDocument as parseYamlDocument } from 'yaml'
import { contextOf, platformChart, platformManifests, platformTree } from '../../../infra/render.ts'
import type { Release } from '../../../infra/render.ts'
import type { Context } from '../../../infra/template/expression.ts'
import type { ValuesOverrides } from '../../../infra/values.ts'
import { compileTemplates } from './go-template.ts'

/** A Kubernetes object as the tests read it: any field may be missing. */
// oxlint-disable-next-line typescript/no-explicit-any -- kubernetes-schema.ts checks the types
export type Manifest = any

export const RELEASE: Release = { name: 'demo', namespace: 'prod' }

/** Read by all renderings of the tests: building it anew takes longer than reading it. */
export const tree = platformTree()

/** The plain manifests for some overrides. */
export const manifests = (
  overrides: ValuesOverrides = {},
  release = RELEASE,
): readonly Manifest[] => platformManifests(contextOf([overrides], release), tree)

/** The one object of a kind and name; the release's prefix is left out. */
export function find(objects: readonly Manifest[], kind: string, name: string): Manifest {
  return objects.find((object) => object.kind === kind && object.metadata.name === `demo-${name}`)
}

export const chart = platformChart(tree)

const render = compileTemplates(
  new Map([...chart.files].filter(([path]) => path.startsWith('templates/'))),
  chart.files,
)
const rendered = [...chart.files.keys()].filter((path) =>
  /^templates\/(?!tests\/).*\.yaml$/.test(path),
)

/** The pod of `helm test`. */
export const chartTestPod = (context: Context): Manifest =>
  parseYaml(render('templates/tests/health.yaml', context))[0]

/** The chart as one stream of YAML, as `helm template` prints it. */
export const chartStream = (context: Context): string =>
  rendered.map((path) => render(path, context)).join('---\n')

/** The objects of the chart. */
export const chartObjects = (context: Context): readonly Manifest[] =>
  parseYaml(chartStream(context))

/** Fails like Helm when the values break a rule. */
export const validationOf = (context: Context): string => render('templates/validate.yaml', context)

/** What NOTES.txt says. */
export const notes = (context: Context): string => render('templates/NOTES.txt', context)

const parsed = new Map<string, Manifest>()

/**
 * The objects of a YAML stream, read as YAML 1.1 like kubectl and Helm do; the same text is parsed
 * once.
 */
export const parseYaml = (stream: string): readonly Manifest[] =>
  stream
    .split(/^---\n/m)
    .map(parseDocument)
    .filter((object) => object !== null)

function parseDocument(text: string): Manifest {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const document = parseYamlDocument(text, { version: '1.1', prettyErrors: false })
  const [error] = document.errors
  if (error) throw new Error(`${error.message}\n${text}`)
  const object: Manifest = document.toJS()
  parsed.set(text, object)
  return object
}

/** Objects in an order that does not depend on the reading. */
export function sorted(objects: readonly Manifest[]): readonly Manifest[] {
  const key = (object: Manifest): string => `${object.kind} ${object.metadata.name}`
  return objects.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Every pod that a set of objects makes. */
export function podsOf(objects: readonly Manifest[]): readonly { owner: string; pod: Manifest }[] {
  return objects
    .map(({ kind, metadata, spec }) => ({
      owner: `${kind} ${metadata.name}`,
      pod: spec?.template ?? spec?.jobTemplate?.spec.template,
    }))
    .filter(({ pod }) => pod?.spec)
}

export const containersOf = (pod: Manifest): readonly Manifest[] => [
  ...(pod.spec.initContainers ?? []),
  ...pod.spec.containers,
]
