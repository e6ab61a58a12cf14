import { findTrouble } from '../../../shared/kubernetes/pod-trouble.ts'
import { describeTrouble } from '../../../shared/kubernetes/pod.ts'
import type { CrewHost, CrewOwner, CrewProgress, SeenCrew, WantedCrew } from '../crew-host.ts'
import { bringUp } from './bring-up.ts'
import { listPods, listServices, removeEach } from './cluster-calls.ts'
import type { ClusterDeps } from './cluster-deps.ts'
import { automationLabels, crewNames, crewUrl, deploymentOf } from './crew-names.ts'
import { keepImages } from './keep-images.ts'
import { openRepository } from './registry-client.ts'
import { describeIn, findDeployment, findDifference } from './drift.ts'
import { followOutput } from './pod-output.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Kubernetes } from '../../../shared/kubernetes/client.ts'
import type { CrewNames } from './crew-names.ts'

/** Creates the host that runs crews as Deployments of a cluster. */
export function createKubernetesHost(deps: ClusterDeps): CrewHost {
  const { kubernetes, cluster, placeOf } = deps
  const home = cluster.home.namespace
  const removalOf = async (owner: CrewOwner) => {
    const { namespace } = await placeOf(owner.organizationId)
    return { kubernetes, owner, namespace, home }
  }
  return {
    ways: cluster.builder ? ['slim', 'image'] : ['slim'],
    bringUp: (wanted, progress, signal) => bringUp(deps, wanted, { progress, signal }),
    look: (wanted, progress) => look(deps, wanted, progress),
    async keepOnly(owner, ids) {
      await keepOnly(await removalOf(owner), ids)
    },
    async keepImages(owner, images) {
      return cluster.builder ? keepImages(openRepository(cluster.builder, owner), images) : 0
    },
    freeImages: async () => cluster.builder?.freeImages(),
    async remove(owner) {
      await removeAll(await removalOf(owner))
    },
    // The cluster goes on without this worker.
    stop: () => Promise.resolve(),
  }
}

async function look(
  deps: ClusterDeps,
  wanted: WantedCrew,
  progress: CrewProgress,
): Promise<SeenCrew> {
  const { kubernetes, placeOf } = deps
  const place = await placeOf(wanted.owner.organizationId)
  const crew = await describeIn(deps, wanted, place)
  const { names } = crew
  const { namespace, selector } = names
  const found = await findDeployment(deps, names)
  if (!found) return drifted('its Deployment is gone', false)
  const { replicas, readyReplicas } = found.status
  const isServing = (readyReplicas ?? 0) > 0
  const difference = await findDifference(deps, crew)
  if (difference) return drifted(difference, isServing)
  if (found.spec.replicas !== wanted.replicas) return drifted('it was scaled by hand', isServing)
  const about = { kubernetes, namespace, selector, container: 'crew' }
  const write = (text: string): void => progress.log('crew', text)
  await followOutput({ ...about, write }, wanted.loggedUntil).pump()
  if (isServing) return { condition: 'online', url: crewUrl(names) }
  const trouble = findTrouble(found, await listPods(kubernetes, namespace, selector))
  const reason = trouble ? describeTrouble(trouble) : `none of its ${replicas} pods is ready`
  return { condition: 'down', reason }
}

const drifted = (reason: string, isServing: boolean): SeenCrew => ({
  condition: 'drifted',
  reason,
  isServing,
})

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
async function keepOnly(removal: Removal, ids: readonly number[]): Promise<number> {
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
async function removeAll(removal: Removal): Promise<void> {
  const leftCount = await keepOnly(removal, [])
  if (leftCount === 0) return
  throw new AppError(
    'unavailable',
    `Pods of ${leftCount} deployments are still ending their runs. They are looked at again.`,
  )
}
