import { readFileSync } from 'node:fs'
import { chartMetadata, chartReadme, handWrittenTemplates } from './chart-texts.ts'
import { imagesIn } from './images/chart-images.ts'
import { PlatformChart } from './platform-chart.ts'
import { refuseFaults } from './pod-faults.ts'
import { rules } from './rules.ts'
import { renderChart } from './template/chart.ts'
import type { RenderedChart } from './template/chart.ts'
import type { Context } from './template/expression.ts'
import { filesOf, readObjects, renderManifests } from './template/manifests.ts'
import type { Files, Manifest } from './template/manifests.ts'
import { buildTree } from './template/objects.ts'
import type { SourceTree } from './template/objects.ts'
import { mergeOverrides } from './template/merge.ts'
import { originOf } from './template/origin.ts'
import type { NamedValues } from './template/origin.ts'
import { brokenRules } from './template/rules.ts'
import { checkValues } from './template/validate.ts'
import { ValuesError } from './template/values-error.ts'
import { schema } from './values.ts'

/** The name and the namespace under which the platform is installed. */
export interface Release {
  readonly name: string
  readonly namespace: string
  /** The manager of the objects, for their label; `Helm` for Helm. @default kubectl */
  readonly service?: string
}

/**
 * Lays overrides over the defaults, later ones over earlier ones. Raises `ValuesError` with every
 * mistake, and with the names of the files where they are given.
 */
export function contextOf(
  overrides: readonly unknown[],
  release: Release,
  names: readonly string[] = [],
): Context {
  const { values, mistakes } = checkValues(schema, mergeOverrides(overrides))
  const context = {
    Values: values,
    Release: {
      Name: release.name,
      Namespace: release.namespace,
      Service: release.service ?? 'kubectl',
      Revision: 1,
    },
    Chart: {
      Name: chartMetadata.name,
      Version: chartMetadata.version,
      AppVersion: chartMetadata.appVersion,
    },
  }
  const inDoubt = mistakes.map(({ path }) => path)
  const all = [
    ...mistakes.map(({ path, problem }) => `${path}: ${problem}`),
    ...brokenRules(rules, context, inDoubt),
  ]
  const files = names.map((name, index) => ({ name, values: overrides[index] }))
  if (all.length > 0) throw new ValuesError(all.map((message) => withOrigin(message, files)))
  return context
}

function withOrigin(message: string, files: readonly NamedValues[]): string {
  const origin = originOf(message, files)
  return origin === undefined ? message : `${message} [${origin}]`
}

/** The construct tree of the deployment, which every rendering below reads. */
export const platformTree = (): SourceTree => buildTree((app) => new PlatformChart(app))

/** Every object of the deployment. */
export const platformManifests = (context: Context, tree = platformTree()): readonly Manifest[] =>
  readObjects(tree, context, refuseFaults).map(({ manifest }) => manifest)

/** The same as files of YAML, by name. */
export const platformFiles = (context: Context, tree = platformTree()): Files =>
  renderManifests(tree, context, refuseFaults)

/** The images that the chart runs by default, for catalogues and their scanners. */
function withImages() {
  const defaults = contextOf([], { name: 'platform', namespace: 'platform' })
  const { own, foreign } = imagesIn(defaults, defaults)
  const entries = [
    ...own.map(({ target, reference }) => [target, reference] as const),
    ...foreign.map(({ source, reference }) => [nameIn(source), reference] as const),
  ]
  const lines = entries.map(([name, image]) => `- name: ${name}\n  image: ${image}\n`)
  return { 'artifacthub.io/images': lines.join('') }
}

const nameIn = (reference: string): string =>
  reference
    .replace(/:[^/]*$/, '')
    .split('/')
    .at(-1) ?? reference

/** The Helm chart, which is the same for all values. */
export const platformChart = (tree = platformTree()): RenderedChart =>
  renderChart({
    metadata: { ...chartMetadata, annotations: { ...chartMetadata.annotations, ...withImages() } },
    shape: schema,
    rules,
    tree,
    texts: handWrittenTemplates(),
    readme: chartReadme(),
    license: readFileSync('LICENSE', 'utf8'),
  })

/** What every rendering reads: it is the same for all values. */
export interface Sources {
  readonly tree: SourceTree
  readonly chart: RenderedChart
}

/** Builds what every rendering reads. */
export function buildSources(): Sources {
  const tree = platformTree()
  return { tree, chart: platformChart(tree) }
}

/** Everything that `npm run synth` writes, and the objects in it. */
export interface Rendering {
  readonly files: Files
  readonly manifests: readonly Manifest[]
}

/** Creates a function that renders everything for some values; the chart is the same for all. */
export function createRenderer({ tree, chart } = buildSources()): (context: Context) => Rendering {
  const ofChart = [...chart.files].map(([path, content]) => [`chart/${path}`, content] as const)
  return (context) => {
    const objects = readObjects(tree, context, refuseFaults)
    return {
      files: new Map([...filesOf(tree, objects), ...ofChart]),
      manifests: objects.map(({ manifest }) => manifest),
    }
  }
}

/** Everything that `npm run synth` writes. */
export const renderAll = (context: Context, sources?: Sources): Files =>
  createRenderer(sources)(context).files
