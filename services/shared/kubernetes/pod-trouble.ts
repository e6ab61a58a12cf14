import type { KubernetesDeployment } from './deployment.ts'
import { toTrouble, troubleOfPod } from './pod.ts'
import type { KubernetesPod, Trouble } from './pod.ts'

/** The reason of a Deployment that somebody has given no pods. */
export const SCALED_TO_ZERO = 'ScaledToZero'

/** Returns why the pods of a Deployment are not ready; undefined while they merely start. */
export function findTrouble(
  { spec, status }: KubernetesDeployment,
  pods: readonly KubernetesPod[],
): Trouble | undefined {
  if (spec.replicas === 0)
    return { reason: SCALED_TO_ZERO, message: 'its Deployment has 0 replicas' }
  const condition = (type: string, value: string) =>
    status.conditions.find((each) => each.type === type && each.status === value)
  // A quota, or Pod Security: no pod is made at all.
  const refused = condition('ReplicaFailure', 'True')
  const late = condition('Progressing', 'False')
  return [refused && toTrouble(refused), ...pods.map(troubleOfPod), late && toTrouble(late)].find(
    (trouble) => trouble !== undefined,
  )
}
