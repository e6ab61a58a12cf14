import { same } from './expression.ts'
import type { Expression, Val } from './expression.ts'
import { isObject } from './json.ts'
import type { Member } from './parts.ts'
import { isSpread } from './structure.ts'
import { childKey } from './template-reading.ts'
import type { Mark, Marks } from './template-reading.ts'

/**
 * A manifest with the mark of each symbolic place; without marks it is an ordinary manifest.
 */
export type Tree =
  | { readonly kind: 'scalar'; readonly value: string | number | boolean }
  | { readonly kind: 'value'; readonly value: Val<unknown> }
  | { readonly kind: 'map'; readonly entries: readonly Entry[] }
  | { readonly kind: 'list'; readonly items: readonly Branch[] }
  | { readonly kind: 'instead'; readonly value: Val<unknown>; readonly own: Tree }

/** A part of a tree, with the conditions and the list of its existence. */
export interface Branch {
  readonly guards: readonly Expression[]
  readonly range?: Expression
  /** The named parts that it is an element of, outermost first. */
  readonly parts?: readonly Member[]
  readonly comment?: string
  readonly tree: Tree
}

/** A branch under a key. */
export interface Entry extends Branch {
  readonly key: string
}

/** Joins a manifest with its marks. */
export function treeOf(manifest: unknown, marks: Marks): Tree {
  return subtree(manifest, marks, '')
}

function subtree(node: unknown, marks: Marks, place: string): Tree {
  const mark = marks.get(place)
  if (mark?.value) return { kind: 'value', value: mark.value }
  const own = ownTree(node, marks, place)
  return mark?.instead ? { kind: 'instead', value: mark.instead, own } : own
}

function ownTree(node: unknown, marks: Marks, place: string): Tree {
  if (Array.isArray(node)) {
    return {
      kind: 'list',
      items: node.map((item, index) => branch(item, marks, childKey(place, `${index}`))),
    }
  }
  if (isObject(node)) {
    const keys = inReadingOrder(node)
    return {
      kind: 'map',
      entries: keys.map((key) => ({ key, ...branch(node[key], marks, childKey(place, key)) })),
    }
  }
  if (typeof node === 'string' || typeof node === 'number' || typeof node === 'boolean') {
    return { kind: 'scalar', value: node }
  }
  throw new Error(`${place.replaceAll('\u0000', '.')}: ${typeof node} has no place in a manifest`)
}

function branch(node: unknown, marks: Marks, place: string): Branch {
  const { guards = [], range, parts, comment }: Partial<Mark> = marks.get(place) ?? {}
  return { guards, range, parts, comment, tree: subtree(node, marks, place) }
}

/** Tells whether a tree prints this very value, or repeats an element over it. */
function prints(tree: Tree, value: Expression): boolean {
  switch (tree.kind) {
    case 'scalar':
    case 'instead':
      return false
    case 'value':
      return same(tree.value.expression, value)
    case 'map':
      return tree.entries.some((entry) => !entry.parts && prints(entry.tree, value))
    case 'list':
      return tree.items.some(({ range, parts, tree: item }) => {
        if (parts) return false
        return range ? same(range, value) : prints(item, value)
      })
  }
}

/** Tells a map or a list from a scalar. */
export const isCollection = ({ kind }: Val<unknown>): boolean => kind === 'map' || kind === 'list'

/** Tells whether a tree is a map or a list without members. */
export const isEmpty = (tree: Tree): boolean =>
  (tree.kind === 'map' && tree.entries.length === 0) ||
  (tree.kind === 'list' && tree.items.length === 0)

/** Puts an entry that is always there behind the dash of a list element. */
export function leadFirst(tree: Tree): Tree {
  if (tree.kind !== 'map') return tree
  const lead = tree.entries.find(
    ({ key, guards, parts }) => guards.length === 0 && !parts && !isSpread(key),
  )
  if (!lead) throw new Error('an element of a list needs one unconditional field')
  return { kind: 'map', entries: [lead, ...tree.entries.filter((entry) => entry !== lead)] }
}

/** The value that `with` can bind: the one that a guard tests, if the branch prints it. */
export function binding(guard: Expression, { tree, range }: Branch): Expression | undefined {
  if (guard.op !== 'call' || guard.fn !== 'isSet' || range) return undefined
  const [tested] = guard.args
  return tested && tested.op !== 'item' && prints(tree, tested) ? tested : undefined
}

// The order in which people write and read manifests; what is not listed follows in alphabetical
// order.
const ORDER = `
  apiVersion kind metadata type name namespace labels annotations immutable replicas
  revisionHistoryLimit serviceName strategy backoffLimit activeDeadlineSeconds
  ttlSecondsAfterFinished podSelector policyTypes ingress egress selector template maxSkew
  topologyKey whenUnsatisfiable serviceAccountName automountServiceAccountToken
  enableServiceLinks imagePullSecrets priorityClassName restartPolicy
  terminationGracePeriodSeconds nodeSelector tolerations affinity topologySpreadConstraints
  initContainers containers image imagePullPolicy command args from to ports envFrom env
  startupProbe livenessProbe readinessProbe lifecycle requests limits resources volumeMounts
  volumes volumeClaimTemplates host path pathType port targetPort containerPort protocol exec
  httpGet tcpSocket value valueFrom matchLabels matchExpressions key operator values apiGroups
  resourceNames verbs apiGroup roleRef subjects
`
  .trim()
  .split(/\s+/)

const RANK = new Map(ORDER.map((key, index) => [key, index]))
const LAST = ORDER.length

/**
 * The keys of a map, sorted. A security context opens a pod but closes a container, which is the
 * map with an image.
 */
function inReadingOrder(map: object): readonly string[] {
  const keys = Object.keys(map)
  if (keys.length < 2) return keys
  const rank = (key: string): number => {
    // Those of the chart before those of the operator.
    if (isSpread(key)) return LAST + (key.includes('"op":"labels"') ? 2 : 3)
    if (key === 'resources' && 'verbs' in map) return RANK.get('apiGroups') ?? LAST
    if (key === 'securityContext')
      return 'image' in map ? LAST + 1 : (RANK.get('nodeSelector') ?? LAST)
    return RANK.get(key) ?? LAST
  }
  return keys
    .map((key) => ({ key, rank: rank(key) }))
    .sort((a, b) => a.rank - b.rank || (a.key < b.key ? -1 : 1))
    .map(({ key }) => key)
}
