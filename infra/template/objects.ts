import { ApiObject, App } from 'cdk8s'
import type { AppProps, Chart } from 'cdk8s'
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

/** A construct tree. */
export interface SourceTree {
  readonly components: readonly string[]
  readonly objects: readonly SourceObject[]
}

/** Builds the tree, in an app with the given options. */
export function buildTree(build: Build, options: AppProps = {}): SourceTree {
  const chart = build(new App(options))
  const sources = chart.node.findAll().filter((node) => node instanceof ApiObject)
  const objects = sources.map((source) => {
    const [component = '', ...rest] = source.node.path.split('/').slice(1)
    const guards = guardsOf(source).map(({ expression }) => expression)
    return { component, name: rest.join('-'), guards, source }
  })
  return { components: chart.node.children.map(({ node }) => node.id), objects }
}
