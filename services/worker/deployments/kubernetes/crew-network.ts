import { isIP } from 'node:net'
import * as v from 'valibot'
import {
  inNamespace,
  outsidePeers,
  platformPods,
  TO_NAMES,
} from '../../../shared/kubernetes/network-peers.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import type { CrewCluster } from './cluster-settings.ts'
import type { CrewNames } from './crew-names.ts'

/** The entry of an automation's list that stands for every public address. */
const INTERNET = 'internet'
/** Peers of one policy; the API server takes more, and its network plugin takes long. */
const ADDRESSES_MAX = 200
const SERVICE = /^[a-z0-9-]+\.([a-z0-9-]+)\.svc(?:\.|$)/

/** What a crew may reach beside the platform, as peers of a NetworkPolicy. */
export interface Reach {
  /** Every public address. */
  readonly internet: boolean
  readonly ranges: readonly string[]
  /** The namespaces of Services that were named. */
  readonly namespaces: readonly string[]
}

/** Resolves the name of a host to its addresses; none when there is no such name. */
export type LookUp = (host: string) => Promise<readonly string[]>

/**
 * Returns what the entries of an automation's list stand for: CIDRs, addresses, host names, and the
 * word `internet`. A NetworkPolicy knows no names, so hosts count with the addresses that they have
 * now; those of Services, whose addresses are not what policies see, with all pods of their
 * namespace.
 */
export async function resolveReach(entries: readonly string[], lookUp: LookUp): Promise<Reach> {
  const hosts = [...new Set(entries)].filter((entry) => entry !== INTERNET)
  const ranges = await Promise.all(hosts.map((entry) => rangesOf(entry, lookUp)))
  return {
    internet: entries.includes(INTERNET),
    ranges: [...new Set(ranges.flat())].sort().slice(0, ADDRESSES_MAX),
    namespaces: [...new Set(hosts.flatMap((host) => SERVICE.exec(host)?.[1] ?? []))].sort(),
  }
}

async function rangesOf(entry: string, lookUp: LookUp): Promise<readonly string[]> {
  if (entry.includes('/')) return [entry]
  const addresses = isIP(entry) === 0 ? await lookUp(entry) : [entry]
  return SERVICE.test(entry) ? [] : addresses.map(toRange)
}

const toRange = (address: string): string => `${address}/${isIP(address) === 6 ? 128 : 32}`

const networkPolicy = v.object({
  spec: v.object({
    egress: v.optional(
      v.array(
        v.object({
          to: v.optional(
            v.array(v.object({ ipBlock: v.optional(v.object({ cidr: v.string() })) })),
            [],
          ),
        }),
      ),
      [],
    ),
  }),
})

/** Returns the ranges that a policy as it is in the cluster lets through. */
export const rangesIn = (policy: unknown): readonly string[] =>
  v
    .parse(networkPolicy, policy)
    .spec.egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock?.cidr ?? []))
    .filter((cidr) => !cidr.endsWith('/0'))

/**
 * Adds the ranges of before, as far as there is room: the addresses of a name change, and programs
 * go on with those that they know.
 */
export const withFormer = (reach: Reach, former: readonly string[]): Reach => ({
  ...reach,
  ranges: [...new Set([...reach.ranges, ...former])].slice(0, ADDRESSES_MAX),
})

/** Lets workers reach the crew, and the crew names, the platform's programs and its own list. */
export function crewNetworkPolicy(
  { namespace, name, labels, selector }: CrewNames,
  cluster: CrewCluster,
  reach: Reach,
): KubernetesObject {
  const http = [{ protocol: 'TCP', port: 'http' }]
  const namespaces = [...new Set([...cluster.openNamespaces, ...reach.namespaces])].sort()
  const to = [
    ...(reach.internet ? outsidePeers(cluster.hasPrivateRanges) : []),
    ...reach.ranges.map((cidr) => ({ ipBlock: { cidr } })),
    ...namespaces.map((each) => inNamespace(each)),
  ]
  return policy(
    { name, namespace, labels },
    {
      podSelector: { matchLabels: selector },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [platformPods(cluster.home, 'worker')], ports: http }],
      egress: [
        TO_NAMES,
        { to: ['web', 'collector'].map((each) => platformPods(cluster.home, each)), ports: http },
        ...(to.length === 0 ? [] : [{ to, ports: [{ protocol: 'TCP' }] }]),
      ],
    },
  )
}

/** Lets the build of an image reach names, its source and BuildKit, and nobody reach it. */
export const buildNetworkPolicy = (
  { namespace, build, labels, buildSelector }: CrewNames,
  { home }: CrewCluster,
): KubernetesObject =>
  policy(
    { name: build, namespace, labels },
    {
      podSelector: { matchLabels: buildSelector },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [
        TO_NAMES,
        { to: [platformPods(home, 'web')], ports: [{ protocol: 'TCP', port: 'http' }] },
        { to: [platformPods(home, 'buildkit')], ports: [{ protocol: 'TCP', port: 'grpc' }] },
      ],
    },
  )

const policy = (metadata: KubernetesObject['metadata'], spec: object): KubernetesObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata,
  spec,
})
