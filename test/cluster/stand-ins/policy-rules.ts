import type { Labels, Metadata } from './api.ts'
import { remainingRanges } from './networks.ts'

interface Selector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
    readonly values?: readonly string[]
  }[]
}

interface ContainerPort {
  readonly name?: string
  readonly containerPort: number
  readonly protocol?: string
}

interface Container {
  readonly ports?: readonly ContainerPort[]
}

export interface Pod {
  readonly metadata: Metadata
  readonly spec: {
    readonly hostNetwork?: boolean
    readonly containers: readonly Container[]
    readonly initContainers?: readonly Container[]
  }
  readonly status: { readonly podIP?: string; readonly phase?: string }
}

interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
}

interface PolicyPort {
  readonly port?: number | string
  readonly endPort?: number
  readonly protocol?: string
}

interface Rule {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports?: readonly PolicyPort[]
}

export interface Policy {
  readonly metadata: Metadata
  readonly spec: {
    readonly podSelector?: Selector
    readonly policyTypes?: readonly string[]
    readonly ingress?: readonly Rule[]
    readonly egress?: readonly Rule[]
  }
}

export interface Cluster {
  readonly pods: readonly Pod[]
  readonly namespaces: readonly { readonly metadata: Metadata }[]
  readonly policies: readonly Policy[]
}

type Direction = 'Ingress' | 'Egress'

/** An address that a peer means; with its pod when it is one, whose names of ports then count. */
interface Address {
  readonly address: string
  readonly pod?: Pod
}

/**
 * The tables of `iptables-restore` that let through what the NetworkPolicies allow, and nothing
 * else.
 */
export function filterRules(cluster: Cluster): readonly string[] {
  const pods = cluster.pods.filter(hasAddress)
  const chains = pods.flatMap((pod) => chainsOf(pod, { ...cluster, pods }))
  return [
    '*filter',
    ':NETWORK-POLICIES - [0:0]',
    ...chains.map(({ name }) => `:${name} - [0:0]`),
    '-A NETWORK-POLICIES -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN',
    ...chains.map(({ flag, address, name }) => `-A NETWORK-POLICIES ${flag} ${address} -j ${name}`),
    ...chains.flatMap(({ rules }) => rules),
    'COMMIT',
    '',
  ]
}

const hasAddress = ({ spec, status }: Pod): boolean =>
  status.podIP !== undefined &&
  spec.hostNetwork !== true &&
  (status.phase === 'Running' || status.phase === 'Pending')

const addressOf = ({ status }: Pod): string => status.podIP ?? ''

/** Outgoing rules lead: a packet has to pass those of its sender and those of its receiver. */
function chainsOf(pod: Pod, cluster: Cluster) {
  return (['Egress', 'Ingress'] as const).flatMap((direction) => {
    const policies = cluster.policies.filter((policy) => isAbout(policy, pod, direction))
    if (policies.length === 0) return []
    const name = `${direction}-${addressOf(pod).replaceAll('.', '-')}`
    const matches = policies.flatMap((policy) =>
      (policy.spec[direction === 'Ingress' ? 'ingress' : 'egress'] ?? []).flatMap((rule) =>
        matchesOf(rule, { pod, direction, cluster }),
      ),
    )
    const rules = [...matches.map((match) => `-A ${name} ${match}-j RETURN`), `-A ${name} -j DROP`]
    const flag = direction === 'Ingress' ? '-d' : '-s'
    return [{ name, flag, address: addressOf(pod), rules }]
  })
}

function isAbout({ metadata, spec }: Policy, pod: Pod, direction: Direction): boolean {
  return (
    metadata.namespace === pod.metadata.namespace &&
    (spec.policyTypes ?? ['Ingress']).includes(direction) &&
    selects(spec.podSelector ?? {}, pod.metadata.labels)
  )
}

interface Subject {
  readonly pod: Pod
  readonly direction: Direction
  readonly cluster: Cluster
}

function matchesOf({ from, to, ports }: Rule, subject: Subject): string[] {
  const { pod, direction } = subject
  const peers = direction === 'Ingress' ? from : to
  const addresses: readonly Partial<Address>[] =
    peers === undefined || peers.length === 0
      ? [{}]
      : peers.flatMap((peer) => addressesOf(peer, subject))
  return addresses.flatMap(({ address, pod: other }) => {
    const flag = direction === 'Ingress' ? '-s' : '-d'
    const who = address === undefined ? '' : `${flag} ${address} `
    if (ports === undefined || ports.length === 0) return [who]
    const receiver = direction === 'Ingress' ? pod : other
    return ports.flatMap((port) => portMatches(port, receiver).map((match) => who + match))
  })
}

function addressesOf(peer: Peer, { pod, cluster }: Subject): readonly Address[] {
  if (peer.ipBlock) {
    const { cidr, except = [] } = peer.ipBlock
    return remainingRanges(cidr, except).map((address) => ({ address }))
  }
  const labelsOf = new Map(
    cluster.namespaces.map(({ metadata }) => [metadata.name, metadata.labels]),
  )
  const { podSelector = {}, namespaceSelector } = peer
  return cluster.pods
    .filter(({ metadata }) =>
      namespaceSelector
        ? selects(namespaceSelector, labelsOf.get(metadata.namespace))
        : metadata.namespace === pod.metadata.namespace,
    )
    .filter(({ metadata }) => selects(podSelector, metadata.labels))
    .map((found) => ({ address: addressOf(found), pod: found }))
}

function portMatches(port: PolicyPort, receiver: Pod | undefined): string[] {
  const protocol = (port.protocol ?? 'TCP').toLowerCase()
  if (port.port === undefined) return [`-p ${protocol} `]
  const numbers =
    typeof port.port === 'number'
      ? [port.endPort === undefined ? `${port.port}` : `${port.port}:${port.endPort}`]
      : namedPorts(port, receiver)
  return numbers.map((number) => `-p ${protocol} -m ${protocol} --dport ${number} `)
}

function namedPorts({ port, protocol = 'TCP' }: PolicyPort, receiver: Pod | undefined): string[] {
  const { containers = [], initContainers = [] } = receiver?.spec ?? {}
  return [...containers, ...initContainers]
    .flatMap(({ ports = [] }) => ports)
    .filter((each) => each.name === port && (each.protocol ?? 'TCP') === protocol)
    .map(({ containerPort }) => String(containerPort))
}

function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Labels = {},
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      return (value !== undefined && values.includes(value)) === (operator === 'In')
    })
  )
}
