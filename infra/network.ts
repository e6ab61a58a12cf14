import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { crewNamespace } from './access.ts'
import { archivesToBucket } from './archive.ts'
import { calls, callsTo, deploymentOf, isProgram, programNames, unrestricted } from './calls.ts'
import type { Call, Outsider, ProgramName } from './calls.ts'
import { create, releaseNamespace } from './kit/create.ts'
import { labels, releaseLabels, selectorLabels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import type { Val } from './template/expression.ts'
import { all, isSet, not } from './template/operators.ts'
import type { Condition } from './template/operators.ts'
import { eachText, intOrString, onlyWhen, when } from './template/structure.ts'
import type { Exactly, Templated } from './template/structure.ts'
import { PUBLIC_ADDRESSES } from './public-addresses.ts'
import { values } from './values.ts'

const { buildkit, collector, crews, dbProxy, envVars, networkPolicy, postgres } = values

type IngressRule = Templated<k8s.NetworkPolicyIngressRule>
/** None: whoever calls. */
type Peers = Exactly<k8s.NetworkPolicyIngressRule>['from'] | undefined

/** Lets pods talk to each other as `calls.ts` declares, and in no other way. */
export class Network extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    new Policy(this, 'default-deny', {
      podSelector: { matchLabels: releaseLabels },
      policyTypes: ['Ingress', 'Egress'],
    })
    for (const name of programNames) this.admitCallsTo(name)
    new Policy(this, 'outbound', {
      podSelector: oneOf(unrestricted),
      policyTypes: ['Egress'],
      egress: [{}],
    })
    const archived = new Policy(this, 'archived-days', {
      podSelector: { matchLabels: selectorLabels('collector') },
      policyTypes: ['Egress'],
      egress: [{}],
    })
    // The bucket is at an address that no chart knows.
    onlyWhen(all(collector.enabled, archivesToBucket), archived)
    const builds = new Policy(this, 'builds', {
      podSelector: { matchLabels: selectorLabels('buildkit') },
      policyTypes: ['Egress'],
      egress: [toNames, ...callsFrom('buildkit'), toPublicAddresses],
    })
    onlyWhen(deploymentOf('buildkit'), builds)
    const configuration = new Policy(this, 'configuration', {
      podSelector: { matchLabels: selectorLabels('configuration') },
      policyTypes: ['Egress'],
      egress: callsFrom('configuration'),
    })
    onlyWhen(deploymentOf('configuration'), configuration)
    new Policy(this, 'database', {
      podSelector: oneOf(databaseClients),
      policyTypes: ['Egress'],
      egress: toDatabase,
    })
  }

  private admitCallsTo(name: ProgramName): void {
    const ingress = rulesFor(callsTo(name))
    if (ingress.length === 0) return
    const podSelector = { matchLabels: selectorLabels(name) }
    const policy = new Policy(this, name, { podSelector, policyTypes: ['Ingress'], ingress })
    onlyWhen(deploymentOf(name), policy)
  }
}

class Policy extends Construct {
  constructor(scope: Construct, id: string, spec: Exactly<k8s.NetworkPolicySpec>) {
    super(scope, id)
    create(this, k8s.KubeNetworkPolicy, {
      metadata: { name: nameOf(id), labels: labels('network') },
      spec,
    })
  }
}

/** One rule for the programs that call a port, and one for each caller outside the release. */
function rulesFor(calls: readonly Call[]): readonly IngressRule[] {
  const inside = calls.flatMap((call) =>
    isProgram(call.from) ? [{ ...call, from: call.from }] : [],
  )
  const ports = [...new Set(inside.map(({ port }) => port))]
  return [
    ...ports.map((port) => ruleFor(port, inside.filter((call) => call.port === port).map(podsOf))),
    ...calls.flatMap(({ from, port, isMade }) =>
      isProgram(from)
        ? []
        : [optional<k8s.NetworkPolicyIngressRule>(isMade, ruleFor(port, PEERS[from]))],
    ),
  ]
}

const ruleFor = (port: string, from: Peers): Exactly<k8s.NetworkPolicyIngressRule> => ({
  ...(from && { from }),
  ports: [{ protocol: 'TCP', port: k8s.IntOrString.fromString(port) }],
})

/** A part that exists while a condition holds, or always without one. */
const optional = <T>(condition: Condition | undefined, inner: Exactly<T>): Templated<T> =>
  condition === undefined ? inner : when<T>(condition, inner)

const pods = (name: ProgramName) => ({ podSelector: { matchLabels: selectorLabels(name) } })

const podsOf = ({ from, isMade }: Call & { readonly from: ProgramName }) =>
  optional<k8s.NetworkPolicyPeer>(isMade ?? deploymentOf(from), pods(from))

const oneOf = (names: readonly ProgramName[]) => ({
  matchLabels: releaseLabels,
  matchExpressions: [
    {
      key: 'app.kubernetes.io/component',
      operator: 'In',
      values: names.map((name) => optional<string>(deploymentOf(name), name)),
    },
  ],
})

const namespace = (name: Val<string>) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

// Without a namespace there is no list of callers at all, which lets everybody in: load balancers
// have no pod to name.
const ingressController = when<k8s.NetworkPolicyPeer>(
  isSet(networkPolicy.ingressNamespace),
  namespace(networkPolicy.ingressNamespace),
)

/** Pods of one kind wherever the crews are. */
const besideCrews = (name: string) => {
  const podSelector = { matchLabels: { 'app.kubernetes.io/name': name } }
  return [
    when<k8s.NetworkPolicyPeer>(not(crews.namespaceIsolation), {
      ...namespace(crewNamespace),
      podSelector,
    }),
    when<k8s.NetworkPolicyPeer>(crews.namespaceIsolation, { ...organizations, podSelector }),
  ]
}

/** The namespaces that the crews' Job and the workers make. */
const organizations = {
  namespaceSelector: { matchLabels: { 'platform/home': releaseNamespace } },
}

const PEERS: Readonly<Record<Outsider, Peers>> = {
  monitoring: [namespace(networkPolicy.monitoringNamespace)],
  scaler: [namespace(networkPolicy.kedaNamespace)],
  senders: [namespace(networkPolicy.tracesNamespace)],
  browsers: [ingressController],
  'own-crews': besideCrews('crew-from-source'),
  builds: besideCrews('crew-build'),
  nodes: undefined,
  visitors: [
    ingressController,
    when<k8s.NetworkPolicyPeer>(
      all(isSet(networkPolicy.ingressNamespace), not(crews.namespaceIsolation)),
      namespace(crewNamespace),
    ),
    when<k8s.NetworkPolicyPeer>(
      all(isSet(networkPolicy.ingressNamespace), crews.namespaceIsolation),
      organizations,
    ),
    when<k8s.NetworkPolicyPeer>(isSet(networkPolicy.ingressNamespace), pods('test')),
  ],
}

const databaseClients = callsTo('postgres')
  .map(({ from }) => from)
  .filter(isProgram)
  .filter((name) => !unrestricted.includes(name))

// Names are looked up at different places in different clusters, on the node itself too.
const toNames = {
  ports: [
    { protocol: 'UDP', port: k8s.IntOrString.fromNumber(53) },
    { protocol: 'TCP', port: k8s.IntOrString.fromNumber(53) },
  ],
}

/** What a program calls of the release, which is all that it reaches there. */
const callsFrom = (name: ProgramName) =>
  calls.flatMap(({ from, to, port }) =>
    from === name && isProgram(to)
      ? [
          optional<k8s.NetworkPolicyEgressRule>(deploymentOf(to), {
            to: [pods(to)],
            ports: [{ protocol: 'TCP', port: k8s.IntOrString.fromString(port) }],
          }),
        ]
      : [],
  )

/** Whatever a Dockerfile names; its steps are programs of organizations. */
const toPublicAddresses = {
  to: [
    ...PUBLIC_ADDRESSES.map((ipBlock) => ({ ipBlock })),
    eachText<k8s.NetworkPolicyPeer>(buildkit.openRanges, (cidr) => ({ ipBlock: { cidr } })),
  ],
}

const toDatabase = [
  toNames,
  when<k8s.NetworkPolicyEgressRule>(postgres.enabled, {
    to: [pods('postgres')],
    ports: [{ protocol: 'TCP', port: k8s.IntOrString.fromNumber(5432) }],
  }),
  when<k8s.NetworkPolicyEgressRule>(all(not(postgres.enabled), not(dbProxy.enabled)), {
    ports: [{ protocol: 'TCP', port: intOrString(envVars.DB_PORT) }],
  }),
  when<k8s.NetworkPolicyEgressRule>(isSet(collector.database.host), {
    ports: [{ protocol: 'TCP', port: intOrString(collector.database.port) }],
  }),
  when<k8s.NetworkPolicyEgressRule>(isSet(collector.readDatabase.urlSecret), {
    ports: [{ protocol: 'TCP', port: intOrString(collector.readDatabase.port) }],
  }),
  // The proxy asks for its identity and its instance at addresses of the cloud provider.
  when<k8s.NetworkPolicyEgressRule>(dbProxy.enabled, {}),
]
