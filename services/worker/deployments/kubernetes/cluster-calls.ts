import * as v from 'valibot'
import { AppError } from '../../../shared/errors.ts'
import {
  apply,
  isPassing,
  pathOf,
  pathOfKind,
  refusal,
  remove,
} from '../../../shared/kubernetes/apply.ts'
import type { Target } from '../../../shared/kubernetes/apply.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import { crewNamespace } from '../../../shared/kubernetes/objects.ts'
import type { KubernetesObject, Labels } from '../../../shared/kubernetes/objects.ts'
import { podList, podsPath, toSelector } from '../../../shared/kubernetes/pod.ts'
import type { KubernetesPod } from '../../../shared/kubernetes/pod.ts'

const LIST_MAX = 500

/** The namespace of an organization's crews. */
export interface CrewPlace {
  readonly namespace: string
  /** It is the organization's own; nobody may have made it yet. */
  readonly isolated: boolean
}

/** Where an object is. */
export const targetOf = ({ kind, metadata }: KubernetesObject): Target => ({
  kind,
  name: metadata.name,
  ...(typeof metadata['namespace'] === 'string' && { namespace: metadata['namespace'] }),
})

/**
 * Applies objects one after the other. The namespace of an organization is made when it turns out
 * to be missing; any other must exist.
 */
export async function applyAll(
  kubernetes: Kubernetes,
  objects: readonly KubernetesObject[],
  { namespace, isolated, home }: CrewPlace & { readonly home: string },
): Promise<void> {
  const applyEach = async (): Promise<void> => {
    for (const object of objects) await apply(kubernetes, targetOf(object), object)
  }
  try {
    await applyEach()
  } catch (thrown) {
    const isMissing = thrown instanceof AppError && thrown.code === 'not_found'
    if (!isMissing || !isolated) throw thrown
    await apply(kubernetes, { kind: 'Namespace', name: namespace }, crewNamespace(namespace, home))
    await applyEach()
  }
}

/** Reads an object; undefined while there is none. Raises as `apply` does. */
export async function findObject(kubernetes: Kubernetes, target: Target): Promise<unknown> {
  const result = await kubernetes({ method: 'GET', path: pathOf(target) })
  if ('object' in result) return result.object
  if (result.failure.status === 404) return undefined
  throw refusal(result.failure, { ...target, verbs: 'get' })
}

const serviceList = v.object({
  items: v.array(
    v.object({
      metadata: v.object({
        name: v.string(),
        labels: v.optional(v.record(v.string(), v.string()), {}),
      }),
    }),
  ),
})

/** Lists the Services with certain labels. */
export async function listServices(kubernetes: Kubernetes, namespace: string, labels: Labels) {
  const query = new URLSearchParams({ labelSelector: toSelector(labels), limit: String(LIST_MAX) })
  const path = `${pathOfKind('Service', namespace)}?${query.toString()}`
  const result = await kubernetes({ method: 'GET', path })
  if ('object' in result) {
    return v.parse(serviceList, result.object).items.map(({ metadata }) => metadata)
  }
  throw refusal(result.failure, { kind: 'services in', name: namespace, verbs: 'list' })
}

/** Lists the pods with certain labels; none while the API server does not answer. */
export async function listPods(
  kubernetes: Kubernetes,
  namespace: string,
  labels: Labels,
): Promise<readonly KubernetesPod[]> {
  const path = podsPath({ namespace, labelSelector: toSelector(labels), limit: LIST_MAX })
  const result = await kubernetes({ method: 'GET', path })
  if ('object' in result) return v.parse(podList, result.object).items
  if (isPassing(result.failure)) return []
  throw refusal(result.failure, { kind: 'pods in', name: namespace, verbs: 'list' })
}

/** Deletes objects of these kinds, all of one name; those that are not there are fine. */
export async function removeEach(
  kubernetes: Kubernetes,
  { name, namespace }: { readonly name: string; readonly namespace: string },
  kinds: readonly Target['kind'][],
): Promise<void> {
  for (const kind of kinds) await remove(kubernetes, { kind, name, namespace })
}
