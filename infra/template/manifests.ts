import { truthyIn } from './expression.ts'
import type { Context } from './expression.ts'
import { buildTree } from './objects.ts'
import type { Build, SourceTree } from './objects.ts'
import { PlainReading } from './plain-reading.ts'
import { treeOf } from './tree.ts'
import { writeManifest } from './writer.ts'

/** Files by their path, in order. */
export type Files = ReadonlyMap<string, string>

type Manifest = Readonly<Record<string, unknown>>

interface PlainObject {
  readonly component: string
  readonly manifest: Manifest
}

/** Every Kubernetes object of a deployment, as plain data. */
export const manifestsOf = (build: Build, context: Context): readonly Manifest[] =>
  readPlain(treeFor(build), context).map(({ manifest }) => manifest)

/** The manifests as files that `kubectl apply -f` takes in the right order, one for each component. */
export function renderManifests(build: Build, context: Context): Files {
  const tree = treeFor(build)
  const objects = readPlain(tree, context)
  const files = tree.components.map((component, index) => {
    const own = objects.filter((object) => object.component === component)
    // Numbered by place, not by count, so that a disabled component does not rename the others.
    const name = `${String(index + 1).padStart(2, '0')}-${component}.yaml`
    return [
      name,
      own.map(({ manifest }) => writeManifest(treeOf(manifest, new Map()))).join('---\n'),
    ] as const
  })
  return new Map(files.filter(([, content]) => content !== ''))
}

const trees = new WeakMap<Build, SourceTree>()

/** The tree is the same for all values, so it is built once; a process that renders often reads it again. */
function treeFor(build: Build): SourceTree {
  const tree = trees.get(build) ?? buildTree(build)
  trees.set(build, tree)
  return tree
}

function readPlain({ objects }: SourceTree, context: Context): readonly PlainObject[] {
  const reading = new PlainReading(context)
  return objects
    .filter(({ guards }) => guards.every((guard) => truthyIn(guard, context)))
    .map(({ component, source }) => ({ component, manifest: reading.manifestOf(source) }))
}
