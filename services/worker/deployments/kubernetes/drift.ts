import * as v from 'valibot'
import { kubernetesDeployment } from '../../../shared/kubernetes/deployment.ts'
import type { KubernetesDeployment } from '../../../shared/kubernetes/deployment.ts'
import type { AddressRange } from '../../../shared/outgoing/address-ranges.ts'
import type { WantedCrew } from '../crew-host.ts'
import { findObject } from './cluster-calls.ts'
import type { CrewPlace } from './cluster-calls.ts'
import type { ClusterDeps } from './cluster-deps.ts'
import type { DescribedCrew } from './crew-deployment.ts'
import { imageOf } from './crew-images.ts'
import type { CrewNames } from './crew-names.ts'
import { addressesIn, peersIn } from './crew-network.ts'
import { APPLIED, crewObjects, describeCrew } from './describe-crew.ts'

const service = v.object({
  metadata: v.object({ annotations: v.optional(v.record(v.string(), v.string()), {}) }),
})

/** Returns a crew with the image that an earlier call made of it. */
export async function describeIn(
  { cluster, gifts }: ClusterDeps,
  wanted: WantedCrew,
  { namespace }: CrewPlace,
): Promise<DescribedCrew> {
  const crew = await describeCrew(wanted, { cluster, gifts, namespace })
  const [, digest] = wanted.image?.split('@') ?? []
  return wanted.way === 'image' && cluster.builder && digest !== undefined
    ? { ...crew, image: await imageOf(cluster.builder, wanted.owner, digest) }
    : crew
}

/** Reads the Deployment of a crew; undefined while there is none. */
export async function findDeployment(
  { kubernetes }: ClusterDeps,
  { name, namespace }: CrewNames,
): Promise<KubernetesDeployment | undefined> {
  const object = await findObject(kubernetes, { kind: 'Deployment', name, namespace })
  return object === undefined ? undefined : v.parse(kubernetesDeployment, object)
}

/** Returns the single addresses that the policy of a crew lets through, as it is in the cluster. */
export async function formerAddresses(
  { kubernetes }: ClusterDeps,
  names: CrewNames,
): Promise<readonly AddressRange[]> {
  const policy = await findPolicy(kubernetes, names)
  return policy === undefined ? [] : addressesIn(policy)
}

const findPolicy = (
  kubernetes: ClusterDeps['kubernetes'],
  { name, namespace }: CrewNames,
): Promise<unknown> => findObject(kubernetes, { kind: 'NetworkPolicy', name, namespace })

/** Returns what was applied otherwise than it would be now; undefined: nothing. */
export async function findDifference(
  deps: ClusterDeps,
  crew: DescribedCrew,
): Promise<string | undefined> {
  const { kubernetes, gifts } = deps
  const { names } = crew
  const { name, namespace } = names
  const found = await findObject(kubernetes, { kind: 'Service', name, namespace })
  if (found === undefined) return 'its Service is gone'
  const policy = await findPolicy(kubernetes, names)
  const wanted = await crewObjects(crew, gifts, policy === undefined ? [] : addressesIn(policy))
  if (wanted.policy !== undefined) {
    if (policy === undefined) return 'its NetworkPolicy is gone'
    const [open, allowed] = [peersIn(policy), peersIn(wanted.policy)]
    const isSame = open.size === allowed.size && [...open].every((peer) => allowed.has(peer))
    if (!isSame) return 'it reaches other addresses than it may'
  }
  const { annotations } = v.parse(service, found).metadata
  return annotations[APPLIED] === wanted.fingerprint ? undefined : 'it was applied otherwise'
}
