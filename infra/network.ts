import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import type { Val } from './template/expression.ts'
import { labels, releaseLabels, selectorLabels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { all, any, isSet, not } from './template/operators.ts'
import { crewNamespace } from './access.ts'
import { create, home } from './kit/create.ts'
import { intOrString, onlyWhen, when } from './template/structure.ts'
import type { Exactly, When } from './template/structure.ts'
import { values } from './values.ts'

const { buildkit, collector, crews, dbProxy, envVars, httpRoute, ingress } = values
const { internalRegistry, networkPolicy, oauth, postgres } = values

type Callers = Exactly<k8s.NetworkPolicyIngressRule>['from']

/** Pods may talk to each other as said here, and no other way: one rule for each call that a program really makes. */
export class Network extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    new Policy(this, 'default-deny', {
      podSelector: { matchLabels: releaseLabels },
      policyTypes: ['Ingress', 'Egress'],
    })
    new Incoming(this, 'web', [from(frontDoor, 'http'), from([monitoring], 'metrics')])
    new Incoming(this, 'worker', [from([monitoring], 'http')])
    onlyWhen(
      oauth.enabled,
      new Incoming(this, 'oauth', [
        from([pods('web')], 'http'),
        when<k8s.NetworkPolicyIngressRule>(isOauthExposed, from([ingressController], 'http')),
      ]),
    )
    onlyWhen(
      collector.enabled,
      new Incoming(this, 'collector', [
        from([pods('web'), pods('worker')], 'http'),
        from([monitoring], 'metrics'),
      ]),
    )
    onlyWhen(postgres.enabled, new Incoming(this, 'postgres', [from(databaseClients, 'postgres')]))
    onlyWhen(buildkit.enabled, new Incoming(this, 'buildkit', [from([pods('worker')], 'grpc')]))
    onlyWhen(
      internalRegistry.enabled,
      new Incoming(this, 'internal-registry', [
        from(
          [pods('worker'), when<k8s.NetworkPolicyPeer>(buildkit.enabled, pods('buildkit'))],
          'http',
        ),
      ]),
    )
    // Identity providers, models, crews, registries, the Kubernetes API: addresses that no chart can know.
    new Policy(this, 'outbound', {
      podSelector: oneOf(
        'web',
        'worker',
        'bootstrap',
        when<string>(crews.install, 'crews'),
        'test',
        when<string>(oauth.enabled, 'oauth'),
        when<string>(buildkit.enabled, 'buildkit'),
      ),
      policyTypes: ['Egress'],
      egress: [{}],
    })
    new Policy(this, 'database', {
      podSelector: oneOf('setup', when<string>(collector.enabled, 'collector')),
      policyTypes: ['Egress'],
      egress: toDatabase,
    })
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

/** Who may call one component; its answers need no rule. */
class Incoming extends Policy {
  constructor(
    scope: Construct,
    component: string,
    rules: Exactly<k8s.NetworkPolicySpec>['ingress'],
  ) {
    super(scope, component, {
      podSelector: { matchLabels: selectorLabels(component) },
      policyTypes: ['Ingress'],
      ingress: rules,
    })
  }
}

const from = (callers: Callers, port: string) => ({
  from: callers,
  ports: [{ protocol: 'TCP', port: k8s.IntOrString.fromString(port) }],
})

const pods = (component: string) => ({ podSelector: { matchLabels: selectorLabels(component) } })

const oneOf = (...components: readonly (string | When<Exactly<string>>)[]) => ({
  matchLabels: releaseLabels,
  matchExpressions: [{ key: 'app.kubernetes.io/component', operator: 'In', values: components }],
})

const namespace = (name: Val<string>) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

const monitoring = namespace(networkPolicy.monitoringNamespace)

// Without a namespace there is no list of callers at all, which lets everybody in: load balancers have no pod to name.
const ingressController = when<k8s.NetworkPolicyPeer>(
  isSet(networkPolicy.ingressNamespace),
  namespace(networkPolicy.ingressNamespace),
)

/** The ingress controller, and the crews, which install their tools from web. */
const frontDoor = [
  ingressController,
  when<k8s.NetworkPolicyPeer>(
    all(isSet(networkPolicy.ingressNamespace), not(crews.namespaceIsolation)),
    namespace(crewNamespace),
  ),
  when<k8s.NetworkPolicyPeer>(
    all(isSet(networkPolicy.ingressNamespace), crews.namespaceIsolation),
    // The namespaces that the crews' Job makes.
    { namespaceSelector: { matchLabels: { 'platform/home': home } } },
  ),
]

const isOauthExposed = any(
  all(ingress.enabled, isSet(ingress.oauthHost)),
  all(httpRoute.enabled, isSet(httpRoute.oauthHost)),
)

const databaseClients = [
  pods('web'),
  pods('worker'),
  pods('setup'),
  when<k8s.NetworkPolicyPeer>(crews.install, pods('crews')),
  when<k8s.NetworkPolicyPeer>(oauth.enabled, pods('oauth')),
  when<k8s.NetworkPolicyPeer>(
    all(collector.enabled, not(isSet(collector.database.host))),
    pods('collector'),
  ),
]

const toDatabase = [
  // Names are looked up at different places in different clusters, on the node itself too.
  {
    ports: [
      { protocol: 'UDP', port: k8s.IntOrString.fromNumber(53) },
      { protocol: 'TCP', port: k8s.IntOrString.fromNumber(53) },
    ],
  },
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
  // The proxy asks for its identity and its instance at addresses of the cloud provider.
  when<k8s.NetworkPolicyEgressRule>(dbProxy.enabled, {}),
]
