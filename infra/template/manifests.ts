import { evaluate, truthyIn } from './expression.ts'
import type { Context } from './expression.ts'
import { areGiven } from './given.ts'
import type { GivenObjects } from './given.ts'
import { isObject } from './json.ts'
import type { SourceTree } from './objects.ts'
import { PlainReading } from './plain-reading.ts'
import { treeOf } from './tree.ts'
import { writeManifest } from './writer.ts'

/** Files by their path, in order. */
export type Files = ReadonlyMap<string, string>

/** A Kubernetes object. */
export type Manifest = Readonly<Record<string, unknown>>

/** An object as plain data, and the component that it belongs to. */
interface PlainObject {
  readonly component: string
  readonly manifest: Manifest
}

/** Raises an error where the objects do not fit together. */
type Check = (objects: readonly Manifest[]) => void

/** Every Kubernetes object of a deployment, as plain data. */
export function readObjects(
  tree: SourceTree,
  context: Context,
  check: Check = () => {},
): readonly PlainObject[] {
  const objects = readPlain(tree, context)
  check(objects.map(({ manifest }) => manifest))
  return objects
}

/** The objects as files that `kubectl apply -f` takes in the right order, one a component. */
export function filesOf({ components }: SourceTree, objects: readonly PlainObject[]): Files {
  const files = components.map((component, index) => {
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

/** The manifests of a deployment as such files. */
export const renderManifests = (tree: SourceTree, context: Context, check?: Check): Files =>
  filesOf(tree, readObjects(tree, context, check))

function readPlain(tree: SourceTree, context: Context): readonly PlainObject[] {
  const reading = new PlainReading(tree, context)
  return tree.objects
    .filter(({ guards }) => guards.every((guard) => truthyIn(guard, context)))
    .flatMap(({ component, source }) =>
      areGiven(source)
        ? givenObjects(source, context).map((manifest) => ({ component, manifest }))
        : reading.manifestsOf(source).map((manifest) => ({ component, manifest })),
    )
}

function givenObjects({ value }: GivenObjects, context: Context): readonly Manifest[] {
  const objects = evaluate(value.expression, context)
  return Array.isArray(objects) ? objects.filter(isObject) : []
}
