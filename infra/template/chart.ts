import { operandsOf } from './expression.ts'
import type { Expression } from './expression.ts'
import { areGiven } from './given.ts'
import type { GivenObjects } from './given.ts'
import { printGo, TOP } from './go.ts'
import { Helpers } from './helpers.ts'
import type { Files } from './manifests.ts'
import type { SourceObject, SourceTree } from './objects.ts'
import { rulesTemplate } from './rules.ts'
import type { Rule } from './rules.ts'
import { leavesOf } from './leaves.ts'
import type { Shape } from './schema.ts'
import { allOf } from './neighbours.ts'
import { readMarked } from './template-reading.ts'
import { treeOf } from './tree.ts'
import { valuesSchema, valuesYaml } from './values-files.ts'
import { repeatedOver } from './structure.ts'
import { writeManifest, writeRepeated, writeTemplate } from './writer.ts'
import type { Visitor } from './writer.ts'

/** The contents of `Chart.yaml`. */
export interface ChartMetadata {
  readonly name: string
  readonly description: string
  readonly version: string
  readonly appVersion: string
  readonly kubeVersion: string
  readonly icon: string
  readonly keywords: readonly string[]
  readonly maintainers: readonly { readonly name: string }[]
  /** Annotations for catalogues of charts. */
  readonly annotations: Readonly<Record<string, string>>
}

interface ChartSource {
  readonly metadata: ChartMetadata
  readonly shape: Shape
  readonly rules: readonly Rule[]
  readonly tree: SourceTree
  /**
   * Templates by hand: `NOTES.txt`, and the pod of `helm test`. They are no part of the deployment.
   */
  readonly texts: Files
  readonly readme: string
  readonly license: string
}

/** The paths of the templates that use a value, by the path of the value. */
type UsedBy = ReadonlyMap<string, ReadonlySet<string>>

/** A Helm chart, and which templates use each value. */
export interface RenderedChart {
  readonly files: Files
  readonly usedBy: UsedBy
}

/**
 * Renders the chart. A value that no template uses is an error: it would be a setting without
 * effect.
 */
export function renderChart({
  metadata,
  shape,
  rules,
  tree,
  texts,
  readme,
  license,
}: ChartSource): RenderedChart {
  const helpers = new Helpers()
  const usedBy = new Map<string, Set<string>>()
  const carried = new Map<string, string>()
  const valuesIn = createValuesIn()
  const templates = readTemplates(tree).map(({ object, write }) => {
    const path = `templates/${object.component}/${object.name}.yaml`
    const seen = new Set<Expression>()
    const visit = (expression: Expression): void => {
      if (seen.has(expression)) return
      seen.add(expression)
      helpers.add(expression)
      if (expression.op === 'file') carried.set(expression.path, expression.content)
      for (const value of valuesIn(expression)) {
        usedBy.set(value, (usedBy.get(value) ?? new Set()).add(path))
      }
    }
    return [path, write({ visit, define: (use, lines) => helpers.define(use, lines) })] as const
  })
  const parts = helpers.partsTemplate()
  refuseUnused(shape, usedBy)
  const files = new Map([
    [
      'Chart.yaml',
      writeManifest(treeOf({ apiVersion: 'v2', type: 'application', ...metadata }, new Map())),
    ],
    ['README.md', readme],
    ['LICENSE', license],
    ['.helmignore', HELMIGNORE],
    ['values.schema.json', `${JSON.stringify(valuesSchema(shape), null, 2)}\n`],
    ['values.yaml', valuesYaml(shape)],
    ['templates/_helpers.tpl', helpers.helpersTemplate()],
    ...(parts === '' ? [] : ([['templates/_parts.tpl', parts]] as const)),
    ['templates/validate.yaml', rulesTemplate(rules)],
    ...carried,
    ...templates,
    ...[...texts].map(([path, text]) => [`templates/${path}`, text] as const),
  ])
  return { files, usedBy }
}

/** Files that people and their tools leave in a directory, and that no package contains. */
const HELMIGNORE = `.git/
.gitignore
.DS_Store
*.swp
*.bak
*.tmp
*.orig
*~
.idea/
.vscode/
*.tgz
`

interface Template {
  readonly object: SourceObject
  readonly write: (visitor: Visitor) => string
}

function readTemplates({ objects, existence }: SourceTree): readonly Template[] {
  return objects.map((object) => {
    const { source } = object
    if (areGiven(source)) return { object, write: givenTemplate(source) }
    const { manifest, marks } = readMarked(source, existence)
    const tree = treeOf(manifest, marks)
    return {
      object,
      write: (visitor) => {
        const { guards } = object
        guards.forEach(visitor.visit)
        const over = repeatedOver(source)?.over.expression
        const body = over
          ? writeRepeated(tree, { over, guards }, visitor)
          : writeTemplate(tree, guards, visitor)
        return guarded(guards, body)
      },
    }
  })
}

const givenTemplate =
  ({ value }: GivenObjects): Template['write'] =>
  ({ visit }) => {
    visit(value.expression)
    return `{{- range ${printGo(value.expression, TOP)} }}\n---\n{{ toYaml . }}\n{{- end }}\n`
  }

/** A template whose guards hold, all of them in one condition. */
function guarded(guards: readonly Expression[], body: string): string {
  const guard = allOf(guards)
  return guard ? `{{- if ${printGo(guard, TOP)} }}\n${body}{{- end }}\n` : body
}

/** Creates a function that returns the paths of the values in an expression, read once each. */
function createValuesIn(): (expression: Expression) => ReadonlySet<string> {
  const known = new WeakMap<Expression, ReadonlySet<string>>()
  const read = (expression: Expression): ReadonlySet<string> =>
    expression.op === 'reference'
      ? new Set(expression.path[0] === 'Values' ? [expression.path.slice(1).join('.')] : [])
      : new Set(operandsOf(expression).flatMap((operand) => [...valuesIn(operand)]))
  const valuesIn = (expression: Expression): ReadonlySet<string> => {
    const values = known.get(expression) ?? read(expression)
    known.set(expression, values)
    return values
  }
  return valuesIn
}

function refuseUnused(shape: Shape, usedBy: UsedBy): void {
  const unused = leavesOf(shape).filter(({ path }) => usersOf(usedBy, path).length === 0)
  if (unused.length > 0) {
    throw new Error(`values that no template uses: ${unused.map(({ path }) => path).join(', ')}`)
  }
}

/** The templates that use a value, by itself or with the group around it. */
export function usersOf(usedBy: UsedBy, path: string): readonly string[] {
  const keys = path.split('.')
  const groups = keys.map((_, index) => keys.slice(0, index + 1).join('.'))
  return [...new Set(groups.flatMap((group) => [...(usedBy.get(group) ?? [])]))]
}
