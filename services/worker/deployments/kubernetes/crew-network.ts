import * as v from 'valibot'
import { findRefusal, readPlace, refusalOf } from '../../../platform/crews/crew-reach.ts'
import type { ReachRules } from '../../../platform/crews/crew-reach.ts'
import {
  inNamespace,
  openBlocks,
  platformPods,
  toPeer,
  TO_NAMES,
} from '../../../shared/kubernetes/network-peers.ts'
import type { KubernetesObject } from '../../../shared/kubernetes/objects.ts'
import { narrow, rangeText, readRange } from '../../../shared/outgoing/address-ranges.ts'
import type { AddressBlock, AddressRange } from '../../../shared/outgoing/address-ranges.ts'
import type { CrewCluster } from './cluster-settings.ts'
import type { CrewNames } from './crew-names.ts'

/** Peers of one policy; the API server takes more, and its network plugin takes long. */
const PEERS_MAX = 200

/** What a crew may reach beside the platform, as peers of a NetworkPolicy. */
export interface Reach {
  readonly blocks: readonly AddressBlock[]
  /** The namespaces of Services that were named. */
  readonly namespaces: readonly string[]
  /** In a sentence each: what was listed, and is shut. */
  readonly refused: readonly string[]
}

/** Resolves the name of a host to its addresses; none when there is no such name. */
export type LookUp = (host: string) => Promise<readonly string[]>

/** What a crew is to reach. */
interface ReachOrder {
  /** The entries of the automation's list, and the models that its organization chose. */
  readonly listed: readonly string[]
  /** The hosts that the operator named: models, and the proxy. */
  readonly given: readonly string[]
  readonly rules: ReachRules
}

/**
 * Returns what lists of CIDRs, addresses, host names and the word `internet` stand for, as far as
 * the operator allows it. A NetworkPolicy knows no names, so hosts count with the addresses that
 * they have now; those of Services, whose addresses are not what policies see, with all pods of
 * their namespace. The hosts that the operator named may have private addresses.
 */
export async function resolveReach(
  { listed, given, rules }: ReachOrder,
  lookUp: LookUp,
): Promise<Reach> {
  const free: ReachRules = { ...rules, hasPrivateRanges: true, namespaces: undefined }
  const reaches = await Promise.all([
    ...[...new Set(listed)]
      .filter((entry) => !given.includes(entry))
      .map((entry) => reachOf(entry, rules, lookUp)),
    ...[...new Set(given)].map((entry) => reachOf(entry, free, lookUp)),
  ])
  const blocks = new Map(reaches.flatMap((each) => each.blocks).map((each) => [keyOf(each), each]))
  return {
    blocks: [...blocks.keys()].sort().flatMap((key) => blocks.get(key) ?? []),
    namespaces: [...new Set(reaches.flatMap((each) => each.namespaces))].sort(),
    refused: reaches.flatMap((each) => each.refused),
  }
}

async function reachOf(entry: string, rules: ReachRules, lookUp: LookUp): Promise<Reach> {
  const place = readPlace(entry)
  if ('namespace' in place) {
    const refusal = findRefusal(entry, rules)
    if (refusal === undefined) return { blocks: [], namespaces: [place.namespace], refused: [] }
    return { blocks: [], namespaces: [], refused: [refusal] }
  }
  const ranges =
    'host' in place
      ? (await lookUp(place.host)).flatMap((address) => readRange(address) ?? [])
      : place.ranges
  const open = openBlocks(rules)
  const shut = ranges.filter((range) => narrow(range, open).length === 0)
  return {
    blocks: ranges.flatMap((range) => narrow(range, open)),
    namespaces: [],
    refused: shut.map((range) => refusalOf(entry, rangeText(range))),
  }
}

const keyOf = (block: AddressBlock): string => JSON.stringify(toPeer(block))

const networkPolicy = v.object({
  spec: v.object({
    egress: v.optional(v.array(v.object({ to: v.optional(v.array(v.unknown()), []) })), []),
  }),
})
const addressPeer = v.object({ ipBlock: v.object({ cidr: v.string() }) })

/** Returns the peers that a policy lets through, each as JSON. */
export const peersIn = (policy: unknown): ReadonlySet<string> =>
  new Set(
    v.parse(networkPolicy, policy).spec.egress.flatMap(({ to }) => to.map((peer) => sorted(peer))),
  )

/** JSON whose keys have one order, whoever wrote them. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

/** Returns the single addresses that a policy as it is in the cluster lets through. */
export const addressesIn = (policy: unknown): readonly AddressRange[] =>
  v
    .parse(networkPolicy, policy)
    .spec.egress.flatMap(({ to }) => to)
    .flatMap((peer) => (v.is(addressPeer, peer) ? (readRange(peer.ipBlock.cidr) ?? []) : []))
    .filter(({ version, bits }) => bits === (version === 4 ? 32 : 128))

/**
 * Adds the addresses of before, as far as they are still allowed and there is room: the addresses
 * of a name change, and programs go on with those that they know.
 */
export function withFormer(
  reach: Reach,
  former: readonly AddressRange[],
  rules: ReachRules,
): Reach {
  const open = openBlocks(rules)
  const known = new Set(reach.blocks.map(keyOf))
  const kept = former
    .flatMap((range) => narrow(range, open))
    .filter((block) => !known.has(keyOf(block)))
  return { ...reach, blocks: [...reach.blocks, ...kept].slice(0, PEERS_MAX) }
}

/** Lets workers reach the crew, and the crew names, the platform's programs and its own list. */
export function crewNetworkPolicy(
  { namespace, name, labels, selector }: CrewNames,
  cluster: CrewCluster,
  reach: Reach,
): KubernetesObject {
  const http = [{ protocol: 'TCP', port: 'http' }]
  const namespaces = [...new Set([...cluster.openNamespaces, ...reach.namespaces])].sort()
  const to = [...reach.blocks.map(toPeer), ...namespaces.map((each) => inNamespace(each))]
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
