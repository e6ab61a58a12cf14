import type { Val } from '../template/expression.ts'
import { builtIn, merged } from '../template/operators.ts'
import { create as createAnywhere, isSpread, spread } from '../template/structure.ts'
import { values } from '../values.ts'

/** The namespace of the release. */
export const releaseNamespace = builtIn('Release.Namespace')

/**
 * Adds an object to the namespace of the release, unless it names another one. All name theirs, so
 * that `kubectl apply` puts each where it belongs: the crews have a namespace of their own.
 */
export const create: typeof createAnywhere = (scope, Kind, props) =>
  createAnywhere(scope, Kind, complete(props, { namespace: releaseNamespace }))

/** Adds an object that has no namespace. */
export const createInCluster: typeof createAnywhere = (scope, Kind, props) =>
  createAnywhere(scope, Kind, complete(props, {}))

interface Metadata {
  readonly annotations?: Annotations
}

type Annotations = Readonly<Record<string, string | Val<string>>>

// Every object has metadata, whose own namespace wins.
function complete<P>(props: P, defaults: object): P {
  const { metadata = {}, ...rest } = props as { readonly metadata?: Metadata }
  const annotations = withCommon(metadata.annotations)
  return { ...rest, metadata: { ...defaults, ...metadata, annotations } } as P
}

/** The annotations of an object, and those of all; its own ones win. */
function withCommon(own: Annotations = {}): Annotations {
  const entries = Object.entries(own)
  const [given] = entries.flatMap(([key, entry]) => (isSpread(key) ? [entry] : []))
  return {
    ...Object.fromEntries(entries.filter(([key]) => !isSpread(key))),
    ...spread(given ? merged(asMap(given), values.commonAnnotations) : values.commonAnnotations),
  }
}

// Under a spread key is a whole map.
const asMap = (entry: string | Val<string>) =>
  entry as unknown as Val<Readonly<Record<string, string>>>
