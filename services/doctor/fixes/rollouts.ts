import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { isObject } from '../../shared/is-object.ts'
import { findAll, toChange } from './deployments.ts'
import type { Own, Where } from './deployments.ts'
import { nothing } from './fix.ts'
import type { Plan } from './fix.ts'
import { perform } from './rights.ts'

const REVISION = 'deployment.kubernetes.io/revision'
const HASH = 'pod-template-hash'

const replicaSets = v.object({
  items: v.array(
    v.object({
      metadata: v.object({
        annotations: v.optional(v.record(v.string(), v.string()), {}),
        ownerReferences: v.optional(v.array(v.object({ uid: v.string() })), []),
      }),
      spec: v.object({ template: v.record(v.string(), v.unknown()) }),
      status: v.optional(v.object({ readyReplicas: v.optional(v.number(), 0) }), {
        readyReplicas: 0,
      }),
    }),
  ),
})

type ReplicaSet = v.InferOutput<typeof replicaSets>['items'][number]

/**
 * Gives Deployments whose newest pods do not come up the pods of the version that still serves, as
 * `kubectl rollout undo` does.
 */
export const takeBackRollouts =
  (where: Where): Plan =>
  async (context) => {
    const all = await findAll(context, where)
    const plans = await Promise.all(all.map(async (own) => [own, await findServing(own)] as const))
    const stuck = plans.flatMap(([own, serving]) => (serving ? [{ own, serving }] : []))
    if (stuck.length === 0) {
      throw nothing('Of no Deployment do pods of an older version serve while new ones do not.')
    }
    return Promise.all(stuck.map(({ own, serving }) => takeBack(own, serving)))
  }

/** Finds the newest older version that serves, if the newest version has no pod that does. */
async function findServing(own: Own): Promise<ReplicaSet | undefined> {
  const { cluster, namespace, metadata, spec } = own
  const right = { verb: 'list', group: 'apps', resource: 'replicasets', namespace } as const
  const labelSelector = Object.entries(spec.selector.matchLabels)
    .map((label) => label.join('='))
    .join(',')
  const { items } = v.parse(
    replicaSets,
    await perform(cluster, right, { query: { labelSelector } }),
  )
  const [newest, ...older] = items
    .filter((each) => each.metadata.ownerReferences.some(({ uid }) => uid === metadata.uid))
    .toSorted((a, b) => revisionOf(b) - revisionOf(a))
  if (newest?.status.readyReplicas !== 0) return undefined
  return older.find(({ status }) => status.readyReplicas > 0)
}

const revisionOf = ({ metadata }: Pick<ReplicaSet, 'metadata'>): number =>
  Number(metadata.annotations[REVISION] ?? 0)

function takeBack(own: Own, serving: ReplicaSet) {
  const { template: before } = own.spec
  const after = withoutHash(serving.spec.template)
  const toTemplate = (patch: unknown): object => ({ spec: { template: patch } })
  return toChange(own, {
    from: `the pods of revision ${own.metadata.annotations[REVISION] ?? 'unknown'}, none ready`,
    to: `those of revision ${revisionOf(serving)}, which serve`,
    patch: toTemplate(patchBetween(before, after)),
    back: toTemplate(patchBetween(after, before)),
  })
}

/** A template as the Deployment had it: its controller adds a label. */
function withoutHash(template: Readonly<Record<string, unknown>>): object {
  const metadata = isObject(template['metadata']) ? template['metadata'] : {}
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {}
  const { [HASH]: _hash, ...own } = labels
  return { ...template, metadata: { ...metadata, labels: own } }
}

/** The merge patch (RFC 7396) that makes one value of another. */
function patchBetween(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) return to
  const changes = [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((name) => {
    if (!(name in to)) return [[name, null]]
    if (isDeepStrictEqual(from[name], to[name])) return []
    return [[name, patchBetween(from[name], to[name])]]
  })
  return Object.fromEntries(changes) as unknown
}
