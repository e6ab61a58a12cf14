import { ApiObject, App } from 'cdk8s'
import type { Chart } from 'cdk8s'
import { createExistence } from './existence.ts'
import type { Existence } from './existence.ts'
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

/** A construct tree, which every rendering reads. */
export interface SourceTree {
  readonly components: readonly string[]
  readonly objects: readonly SourceObject[]
  readonly existence: Existence
  /** Maps and lists in which nothing is symbolic, as far as a plain reading has found them. */
  readonly constants: WeakSet<object>
}

/** Builds the tree. It is the same for all values: a process that renders often reads it again. */
export function buildTree(build: Build): SourceTree {
  const existence = createExistence()
  const chart = build(new App())
  const sources = chart.node.findAll().filter((node) => node instanceof ApiObject)
  const objects = sources.map((source) => {
    const [component = '', ...rest] = source.node.path.split('/').slice(1)
    const guards = guardsOf(source).map(({ expression }) => expression)
    return { component, name: rest.join('-'), guards, source }
  })
  const components = chart.node.children.map(({ node }) => node.id)
  return { components, objects, existence, constants: new WeakSet() }
}
