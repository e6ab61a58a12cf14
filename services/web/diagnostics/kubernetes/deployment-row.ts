import type { KubernetesDeployment } from '../../../shared/kubernetes/deployment.ts'

/**
 * The state of a Deployment. `ready`, `progressing` and `stuck` have as many ready pods as desired
 * (SPEC 2.3); the others fail.
 */
export type Condition =
  | 'ready'
  | 'progressing'
  | 'stuck'
  | 'unready'
  | 'surging'
  | 'missing'
  | 'scaled_to_zero'

const WELL: ReadonlySet<Condition> = new Set(['ready', 'progressing', 'stuck'])

/** One Deployment in `details.deployments` (SPEC 2.4). */
export interface DeploymentRow {
  readonly name: string
  readonly condition: Condition
  readonly desired_replicas: number
  readonly ready_replicas: number
  readonly updated_replicas: number
  readonly message: string
}

/** True if readyReplicas equals spec.replicas, and that is not zero (SPEC 2.3, 7). */
export const isWell = ({ condition }: DeploymentRow): boolean => WELL.has(condition)

/** Describes a Deployment, with the troubles of its pods; `missing` without one. */
export function toRow(
  name: string,
  found: KubernetesDeployment | undefined,
  troubles: readonly string[] = [],
): DeploymentRow {
  if (!found) return missing(name)
  const condition = conditionOf(found, troubles)
  return {
    name,
    condition,
    desired_replicas: desiredReplicas(found),
    ready_replicas: readyReplicas(found),
    updated_replicas: found.status.updatedReplicas ?? 0,
    message: messageOf(found, { condition, troubles }),
  }
}

/** Counts the pods that are ready; the API server omits the count when it is zero. */
export const readyReplicas = ({ status }: KubernetesDeployment): number => status.readyReplicas ?? 0

const desiredReplicas = ({ spec }: KubernetesDeployment): number => spec.replicas ?? 1

/** True if no rollout is under way: all pods are of the newest change, and ready. */
export const isSettled = (found: KubernetesDeployment): boolean =>
  conditionOf(found, []) === 'ready'

const missing = (name: string): DeploymentRow => ({
  name,
  condition: 'missing',
  desired_replicas: 0,
  ready_replicas: 0,
  updated_replicas: 0,
  message: 'There is no such Deployment.',
})

function conditionOf(found: KubernetesDeployment, troubles: readonly string[]): Condition {
  const { metadata, status } = found
  const [desired, ready] = [desiredReplicas(found), readyReplicas(found)]
  if (desired === 0) return 'scaled_to_zero'
  if (ready < desired) return 'unready'
  if (ready > desired) return 'surging'
  const isCurrent = (status.observedGeneration ?? 0) >= metadata.generation
  const isUpdated = (status.updatedReplicas ?? 0) >= desired && (status.replicas ?? 0) <= desired
  if (isCurrent && isUpdated) return 'ready'
  return troubles.length > 0 || refusalsOf(found).length > 0 ? 'stuck' : 'progressing'
}

const MESSAGES: Readonly<Partial<Record<Condition, string>>> = {
  scaled_to_zero: 'It is scaled to zero replicas.',
  surging: 'A rolling update is under way.',
  progressing: 'A rolling update is under way.',
  stuck: 'The newest version does not come up; pods of the version before it are ready.',
}

function messageOf(
  found: KubernetesDeployment,
  { condition, troubles }: { condition: Condition; troubles: readonly string[] },
): string {
  if (condition === 'ready') return ''
  const own = MESSAGES[condition]
  return [...(own ? [own] : []), ...refusalsOf(found), ...troubles].join(' ')
}

/** Lists the conditions that explain missing pods: a quota, a deadline, a refused admission. */
const refusalsOf = ({ status }: KubernetesDeployment): readonly string[] =>
  (status.conditions ?? [])
    .filter(({ type, status }) =>
      type === 'ReplicaFailure' ? status === 'True' : status === 'False',
    )
    .map(({ reason, message }) => `${reason}: ${message}`)
