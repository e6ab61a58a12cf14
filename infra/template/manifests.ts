import { truthyIn } from './expression.ts'
import type { Context } from './expression.ts'
import { readObjects } from './objects.ts'
import type { Build } from './objects.ts'
import { PlainReading } from './plain-reading.ts'
import { treeOf } from './tree.ts'
import { writeManifest } from './writer.ts'

/** Files by their path, in order. */
export type Files = ReadonlyMap<string, string>

/** Every Kubernetes object of a deployment, as plain data. */
export function manifestsOf(
  build: Build,
  context: Context,
): readonly Readonly<Record<string, unknown>>[] {
  return readPlain(build, context).objects.map(({ manifest }) => manifest)
}

/** The manifests as files that `kubectl apply -f` takes in the right order, one for each component. */
export function renderManifests(build: Build, context: Context): Files {
  const { components, objects } = readPlain(build, context)
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

function readPlain(build: Build, context: Context): ReturnType<typeof readObjects> {
  const wanted = (guards: Parameters<typeof isMet>[0]): boolean => isMet(guards, context)
  return readObjects(build, new PlainReading(context), wanted)
}

const isMet = (guards: readonly Parameters<typeof truthyIn>[0][], context: Context): boolean =>
  guards.every((guard) => truthyIn(guard, context))
