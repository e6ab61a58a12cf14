import * as v from 'valibot'
import { createKubernetes } from '../../../shared/kubernetes/client.ts'
import type { KubernetesAddress } from '../../../shared/kubernetes/client.ts'
import type { KubernetesDeployment } from '../../../shared/kubernetes/deployment.ts'
import { describeTrouble, podList, podsPath, troubleOfPod } from '../../../shared/kubernetes/pod.ts'
import type { KubernetesPod, PodQuery } from '../../../shared/kubernetes/pod.ts'

const PODS_MAX = 500
const TROUBLES_MAX = 3

/** The pods to list, and when to stop. */
interface PodsOf extends Omit<PodQuery, 'limit'> {
  readonly signal: AbortSignal
}

/**
 * Lists at most 500 pods of a namespace. Returns none where they cannot be read: they only explain
 * the state of Deployments, and the platform can do without that right (SPEC 7).
 */
export async function listPods(
  address: KubernetesAddress,
  { signal, ...query }: PodsOf,
): Promise<readonly KubernetesPod[]> {
  const path = podsPath({ ...query, limit: PODS_MAX })
  const result = await createKubernetes(address)({ method: 'GET', path, signal })
  const parsed = v.safeParse(podList, 'object' in result ? result.object : undefined)
  return parsed.success ? parsed.output.items : []
}

/**
 * Lists the reasons that pods of a Deployment do not become ready, each once: images that cannot be
 * pulled, crashes, no node.
 */
export function troublesOf(
  { spec }: KubernetesDeployment,
  pods: readonly KubernetesPod[],
): readonly string[] {
  const labels = Object.entries(spec.selector.matchLabels)
  if (labels.length === 0) return []
  const own = pods.filter(({ metadata }) =>
    labels.every(([key, value]) => metadata.labels[key] === value),
  )
  const troubles = own.map(troubleOfPod).filter((trouble) => trouble !== undefined)
  return [...new Set(troubles.map(describeTrouble))].slice(0, TROUBLES_MAX)
}
