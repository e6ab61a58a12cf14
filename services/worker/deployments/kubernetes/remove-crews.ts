import { AppError } from '../../../shared/errors.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import type { CrewOwner } from '../crew-host.ts'
import { listPods, listServices, removeEach } from './cluster-calls.ts'
import { automationLabels, crewNames, deploymentOf } from './crew-names.ts'
import type { CrewNames } from './crew-names.ts'

interface Removal {
  readonly kubernetes: Kubernetes
  readonly owner: CrewOwner
  readonly namespace: string
  readonly home: string
}

/**
 * Ends the deployments of an automation whose ids are not among these. Their pods have the time to
 * end their runs; what those need stays until they have, and goes with a later call. Returns how
 * many are not gone yet.
 */
export async function keepOnly(removal: Removal, ids: readonly number[]): Promise<number> {
  const { kubernetes, owner, namespace, home } = removal
  // A Service is made before anything else of a deployment, and deleted after it.
  const services = await listServices(kubernetes, namespace, automationLabels(owner))
  let leftCount = 0
  for (const { labels } of services) {
    const id = deploymentOf(labels)
    if (id === undefined || ids.includes(id)) continue
    const names = crewNames({ id, owner }, { namespace, home })
    if (!(await end(kubernetes, names))) leftCount += 1
  }
  return leftCount
}

/** Returns true once nothing is left. */
async function end(kubernetes: Kubernetes, names: CrewNames): Promise<boolean> {
  const { namespace, name } = names
  const build = { name: names.build, namespace }
  await removeEach(kubernetes, { name, namespace }, ['Deployment'])
  await removeEach(kubernetes, build, ['Job', 'Secret', 'NetworkPolicy'])
  const pods = await listPods(kubernetes, namespace, names.selector)
  if (pods.length > 0) return false
  for (const secret of [names.install, names.pull]) {
    await removeEach(kubernetes, { name: secret, namespace }, ['Secret'])
  }
  await removeEach(kubernetes, { name, namespace }, ['Secret', 'NetworkPolicy', 'Service'])
  return true
}

/** Ends all of an automation. Raises `unavailable` until its last pod has ended. */
export async function removeAll(removal: Removal): Promise<void> {
  const leftCount = await keepOnly(removal, [])
  if (leftCount === 0) return
  throw new AppError(
    'unavailable',
    `Pods of ${leftCount} deployments are still ending their runs. They are looked at again.`,
  )
}
