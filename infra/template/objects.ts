import { ApiObject, App } from 'cdk8s'
import type { Chart, IResolver } from 'cdk8s'
import type { Expression } from './expression.ts'
import { guardsOf } from './structure.ts'

/** Adds a whole deployment to an app. Its direct children are the components, in apply order. */
export type Build = (app: App) => Chart

/** One Kubernetes object of the tree. */
export interface SourceObject {
  readonly component: string
  /** Its place in the component, such as `serviceaccount`. */
  readonly name: string
  /** The conditions under which it exists. */
  readonly guards: readonly Expression[]
  readonly source: ApiObject
}

/** A construct tree that one reading resolves. */
export interface SourceTree {
  readonly components: readonly string[]
  readonly objects: readonly SourceObject[]
}

/** Builds the tree. */
export function buildTree(build: Build, reading: IResolver): SourceTree {
  const chart = build(new App({ resolvers: [reading] }))
  const sources = chart.node.findAll().filter((node) => node instanceof ApiObject)
  const objects = sources.map((source) => {
    const [component = '', ...rest] = source.node.path.split('/').slice(1)
    const guards = guardsOf(source).map(({ expression }) => expression)
    return { component, name: rest.join('-'), guards, source }
  })
  return { components: chart.node.children.map(({ node }) => node.id), objects }
}
