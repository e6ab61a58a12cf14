import { crewResources } from '../../../platform/crews/crew-resources.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import { fingerprint } from '../../../shared/kubernetes/objects.ts'
import type { AddressRange } from '../../../shared/outgoing/address-ranges.ts'
import type { WantedCrew } from '../crew-host.ts'
import type { CrewCluster } from './cluster-settings.ts'
import {
  crewDeployment,
  crewService,
  installSecret,
  lasting,
  variablesSecret,
} from './crew-deployment.ts'
import type { DescribedCrew } from './crew-deployment.ts'
import { crewNames } from './crew-names.ts'
import { pullSecret } from './crew-images.ts'
import { crewNetworkPolicy, resolveReach, withFormer } from './crew-network.ts'
import type { LookUp, Reach } from './crew-network.ts'

/** On the Service of a crew it tells with which objects the crew was applied. */
export const APPLIED = 'platform/applied'

/** What the platform gives to a crew from source. */
export interface CrewGifts {
  /** The variables of the crew's program, with its token. */
  readonly environmentOf: (wanted: WantedCrew) => Promise<Readonly<Record<string, string>>>
  /** Where pods fetch a source, for some hours. */
  readonly sourceUrlOf: (wanted: WantedCrew) => string
  /** The tools indexes as uv takes them, with a token for some hours. */
  readonly indexesOf: (wanted: WantedCrew) => string
  /** The hosts of the models that an organization's runs call. */
  readonly modelHostsOf: (organizationId: number) => Promise<ModelHosts>
  readonly lookUp: LookUp
  /** Raises `conflict` when an organization may have no further image built. */
  readonly requireBuild: (organizationId: number) => Promise<void>
}

/** The hosts of models. */
interface ModelHosts {
  /** Those that the organization chose. */
  readonly chosen: readonly string[]
  /** Those that the operator named or allowed, and the proxy. */
  readonly given: readonly string[]
}

interface CrewObjects {
  /** Where it is reached, and who reaches it: first, and deleted last. */
  readonly service: KubernetesObject
  /** What it may reach; undefined: policies are off. */
  readonly policy: KubernetesObject | undefined
  readonly secrets: readonly KubernetesObject[]
  readonly deployment: KubernetesObject
  /** What the policy stands for. */
  readonly reach: Reach
  /** Changes with its Secrets and its Deployment. */
  readonly fingerprint: string
}

/** Returns what is known of a crew before its image. Raises `unprocessable` for its settings. */
export async function describeCrew(
  wanted: WantedCrew,
  {
    cluster,
    gifts,
    namespace,
  }: {
    readonly cluster: CrewCluster
    readonly gifts: CrewGifts
    readonly namespace: string
  },
): Promise<DescribedCrew> {
  return {
    wanted,
    cluster,
    names: crewNames(wanted, { namespace, home: cluster.home.namespace }),
    resources: crewResources(wanted.settings, cluster.maxima),
    environment: await gifts.environmentOf(wanted),
    sourceUrl: gifts.sourceUrlOf(wanted),
    indexes: gifts.indexesOf(wanted),
    caBundle: await cluster.caBundle?.(),
  }
}

/** Returns the objects of a crew; addresses that it reached before stay open. */
export async function crewObjects(
  crew: DescribedCrew,
  gifts: CrewGifts,
  former: readonly AddressRange[],
): Promise<CrewObjects> {
  const { wanted, cluster, names } = crew
  const models = await gifts.modelHostsOf(wanted.owner.organizationId)
  const listed = [...wanted.settings.egress, ...models.chosen]
  const order = { listed, given: models.given, rules: cluster.reach }
  const reach = await resolveReach(order, gifts.lookUp)
  const { builder } = cluster
  const { image } = crew
  const pull =
    builder && image !== undefined
      ? pullSecret(builder, { owner: wanted.owner, image }, names)
      : undefined
  const secrets = [
    variablesSecret(crew),
    ...(crew.image === undefined ? [installSecret(crew)] : []),
    ...(pull ? [pull] : []),
  ]
  const deployment = crewDeployment(crew)
  const { sourceUrl, indexes } = crew
  const applied = fingerprint([lasting(crew), sourceUrl, indexes, pull, deployment])
  const service = crewService(crew)
  const metadata = { ...service.metadata, annotations: { [APPLIED]: applied } }
  return {
    service: { ...service, metadata },
    policy: cluster.isGuarded
      ? crewNetworkPolicy(names, cluster, withFormer(reach, former, cluster.reach))
      : undefined,
    secrets,
    deployment,
    reach,
    fingerprint: applied,
  }
}
