/** The addresses at which clouds hand out the identity of a node. */
const LINK_LOCAL = { '0.0.0.0/0': ['169.254.0.0/16'], '::/0': ['fe80::/10', 'fd00:ec2::254/128'] }
/** All that is not on the public Internet: private networks, and those of most clusters. */
const PRIVATE = {
  '0.0.0.0/0': ['10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'],
  '::/0': ['fc00::/7', 'fe80::/10'],
}

/** Peers of a NetworkPolicy: every address but those of cloud metadata, or every public one. */
export const outsidePeers = (hasPrivateRanges: boolean) =>
  Object.entries(hasPrivateRanges ? LINK_LOCAL : PRIVATE).map(([cidr, except]) => ({
    ipBlock: { cidr, except },
  }))

/** The pods of one namespace, or of every one. */
export const inNamespace = (name: string | undefined) => ({
  namespaceSelector:
    name === undefined ? {} : { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

/** The installation of the platform that pods are of. */
export interface PlatformRelease {
  readonly namespace: string
  readonly release: string
}

/** The pods of one component of the platform. */
export const platformPods = ({ namespace, release }: PlatformRelease, component: string) => ({
  ...inNamespace(namespace),
  podSelector: {
    matchLabels: {
      'app.kubernetes.io/name': 'platform',
      'app.kubernetes.io/instance': release,
      'app.kubernetes.io/component': component,
    },
  },
})

/** Lets pods look up names, wherever the cluster's name servers are. */
export const TO_NAMES = { ports: ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 53 })) }
