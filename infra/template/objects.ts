import { ApiObject, App } from 'cdk8s'
import type { Chart, IResolver } from 'cdk8s'
import type { Expression } from './expression.ts'
import { manifestOf } from './strictness.ts'
import { guardsOf } from './structure.ts'

/** Adds a whole deployment to an app. Its direct children are the components, in apply order. */
export type Build = (app: App) => Chart

/** One Kubernetes object, as one reading sees it. */
export interface ReadObject {
  readonly component: string
  /** Its place in the component, such as `serviceaccount`. */
  readonly name: string
  /** The conditions under which it exists. */
  readonly guards: readonly Expression[]
  readonly source: ApiObject
  readonly manifest: Readonly<Record<string, unknown>>
}

/** Builds the tree with one reading; `wanted` decides whether an object is read at all. */
export function readObjects(
  build: Build,
  reading: IResolver,
  wanted: (guards: readonly Expression[]) => boolean = () => true,
): { readonly components: readonly string[]; readonly objects: readonly ReadObject[] } {
  const chart = build(new App({ resolvers: [reading] }))
  const sources = chart.node.findAll().filter((node) => node instanceof ApiObject)
  const objects = sources.flatMap((source): readonly ReadObject[] => {
    const guards = guardsOf(source).map(({ expression }) => expression)
    if (!wanted(guards)) return []
    const [component = '', ...rest] = source.node.path.split('/').slice(1)
    return [{ component, name: rest.join('-'), guards, source, manifest: manifestOf(source) }]
  })
  return { components: chart.node.children.map(({ node }) => node.id), objects }
}
