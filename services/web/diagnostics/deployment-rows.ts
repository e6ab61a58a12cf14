import type { KubernetesDeployment } from '../../shared/kubernetes-deployment.ts'

export type Condition = 'ready' | 'unready' | 'progressing' | 'missing' | 'scaled_to_zero'

/** One Deployment in `details.deployments` (SPEC 2.4). */
export interface DeploymentRow {
  readonly name: string
  readonly condition: Condition
  readonly desired_replicas: number
  readonly ready_replicas: number
  readonly updated_replicas: number
  readonly message: string
}

/** How a Deployment is doing; more pods than desired are fine, for so a rolling update looks. */
export function toRow(name: string, found: KubernetesDeployment | undefined): DeploymentRow {
  if (!found) return missing(name)
  const desired = found.spec.replicas ?? 1
  const ready = readyReplicas(found)
  const condition = conditionOf(found, { desired, ready })
  return {
    name,
    condition,
    desired_replicas: desired,
    ready_replicas: ready,
    updated_replicas: found.status.updatedReplicas ?? 0,
    message: messageOf(found, { condition, desired, ready }),
  }
}

/** Pods that are ready; the API server leaves the count out when it is zero. */
export const readyReplicas = ({ status }: KubernetesDeployment): number => status.readyReplicas ?? 0

const missing = (name: string): DeploymentRow => ({
  name,
  condition: 'missing',
  desired_replicas: 0,
  ready_replicas: 0,
  updated_replicas: 0,
  message: 'There is no such Deployment.',
})

interface Counts {
  readonly desired: number
  readonly ready: number
}

function conditionOf(
  { metadata, status }: KubernetesDeployment,
  { desired, ready }: Counts,
): Condition {
  if (desired === 0) return 'scaled_to_zero'
  if ((status.observedGeneration ?? 0) < metadata.generation) return 'progressing'
  return ready >= desired ? 'ready' : 'unready'
}

function messageOf(
  { status }: KubernetesDeployment,
  { condition, desired, ready }: Counts & { condition: Condition },
): string {
  if (condition === 'scaled_to_zero') return 'It is scaled to zero replicas.'
  if (condition === 'progressing') return 'The cluster has not taken up its latest change yet.'
  if (condition === 'ready') return ready > desired ? 'A rolling update is under way.' : ''
  const troubles = (status.conditions ?? []).filter(isTrouble)
  return troubles.map(({ reason, message }) => `${reason}: ${message}`).join(' ')
}

/** The conditions that say why pods are not there: a quota, a deadline, an admission that refused them. */
const isTrouble = ({ type, status }: { type: string; status: string }): boolean =>
  type === 'ReplicaFailure' ? status === 'True' : status === 'False'
