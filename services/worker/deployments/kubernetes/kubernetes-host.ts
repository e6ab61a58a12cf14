import { findTrouble } from '../../../shared/kubernetes/pod-trouble.ts'
import { describeTrouble } from '../../../shared/kubernetes/pod.ts'
import type { CrewHost, CrewOwner, CrewProgress, SeenCrew, WantedCrew } from '../crew-host.ts'
import { bringUp } from './bring-up.ts'
import { listPods } from './cluster-calls.ts'
import type { ClusterDeps } from './cluster-deps.ts'
import { crewUrl } from './crew-names.ts'
import { keepImages } from './keep-images.ts'
import { openRepository } from './registry-client.ts'
import { describeIn, findDeployment, findDifference } from './drift.ts'
import { followOutput } from './pod-output.ts'
import { keepOnly, removeAll } from './remove-crews.ts'

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
