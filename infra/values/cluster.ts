import type * as k8s from '../k8s.ts'
import { freeList } from '../template/free.ts'
import { boolean, group, integer, string, texts, word } from '../template/schema.ts'
import { LABEL_KEY, OBJECT_NAME } from '../kubernetes-names.ts'
import * as type from '../value-types.ts'
import { crews } from './crews.ts'

const moreHosts = texts('More host names of web. They need `host`.', {
  ...type.HOST,
  expected: 'a host name such as "automation.example.com"',
})

/** The ties to the cluster: access, network, addresses, metrics. */
export const cluster = {
  rbac: group('Access to the Kubernetes API.', {
    create: boolean(
      true,
      'Create the Roles that the diagnostic probe and the secret bootstrap need.',
    ),
    admissionPolicy: boolean(
      false,
      'Have the API server hold the workers to their rights once more, by a ' +
        'ValidatingAdmissionPolicy: they write only where crews are, and change nothing of a ' +
        'program of the release. It is always there with `crews.namespaceIsolation`.',
    ),
  }),

  crews,

  serviceAccount: group('The service accounts of everything but the secret bootstrap.', {
    annotations: type.annotations(
      'Annotations, such as a workload identity for the database proxy.',
      { 'iam.gke.io/gcp-service-account': 'platform@project.iam.gserviceaccount.com' },
    ),
  }),

  topologySpread: group('How the pods of a component spread over the cluster.', {
    topologyKey: string('kubernetes.io/hostname', 'Node label that names the place.', LABEL_KEY),
    maxSkew: integer(1, 'By how many pods places may differ.', { min: 1, max: 100 }),
    whenUnsatisfiable: word(
      ['ScheduleAnyway', 'DoNotSchedule'],
      'ScheduleAnyway',
      'What happens to a pod that would break this.',
    ),
  }),

  networkPolicy: group('Which traffic is let through; everything else between pods is not.', {
    enabled: boolean(true, 'Create the NetworkPolicies.'),
    ingressNamespace: type.namespace(
      '',
      'Namespace of the ingress controller, from which alone web and oauth are then ' +
        'reached. Empty means from everywhere.',
    ),
    modelNamespace: type.namespace(
      '',
      'Namespace of the models inside the cluster that crews call. Empty means any, unless ' +
        '`toolNamespace` names one.',
    ),
    toolNamespace: type.namespace(
      '',
      'Namespace of MCP servers and APIs inside the cluster that tools of crews call. Empty ' +
        'means any, unless `modelNamespace` names one.',
    ),
    crewPrivateRanges: boolean(
      true,
      'Let crews reach private addresses outside of these namespaces. `false` leaves them the ' +
        'public ones: 10/8, 172.16/12, 192.168/16, 100.64/10 and fc00::/7 are shut.',
    ),
    crewRanges: type.ranges(
      'Private ranges that automations from source may list among what their crews reach, such ' +
        'as `10.20.0.0/16,10.30.7.0/24`, while `crewPrivateRanges` is `false`. Addresses of a ' +
        'node, of its link and of cloud metadata stay shut.',
    ),
    crewNamespaces: string(
      '',
      'Namespaces whose Services automations from source may list among what their crews reach, ' +
        'with commas between; `*` means any. Those of models and tools need not be named.',
      {
        pattern: /^(\*|[a-z0-9]([a-z0-9-]*[a-z0-9])?(,[a-z0-9]([a-z0-9-]*[a-z0-9])?)*)?$/,
        expected: 'names of namespaces with commas between, "*", or ""',
      },
    ),
    monitoringNamespace: type.namespace('monitoring', 'Namespace from which metrics are read.'),
    kedaNamespace: type.namespace(
      'keda',
      'Namespace of KEDA, which asks the workers for their queue.',
    ),
    tracesNamespace: type.namespace(
      '',
      'Namespace of programs that send traces of their own to the collector. Empty means none.',
    ),
  }),

  ingress: group('An Ingress for web, and for oauth.', {
    enabled: boolean(false, 'Create it.'),
    className: type.objectName("Class. Empty means the cluster's default."),
    annotations: type.annotations('Annotations for the ingress controller.', {
      'cert-manager.io/cluster-issuer': 'letsencrypt',
    }),
    host: type.hostname('Host name of web; `*.` stands for one label. Empty means every host.'),
    oauthHost: type.hostname('Host name of oauth. Empty means that it is not exposed.'),
    extraHosts: moreHosts,
    tlsSecret: type.objectName('Secret with the certificate for all. Empty means no TLS here.'),
    extraTls: freeList<k8s.IngressTls>('More certificates, each with its hosts.', {
      type: 'IngressTLS',
      demands: { secretName: OBJECT_NAME },
      example: [{ secretName: 'other-certificate', hosts: ['automation.example.com'] }],
    }),
  }),

  httpRoute: group('HTTPRoutes of the Gateway API for web, and for oauth.', {
    enabled: boolean(false, 'Create them.'),
    gateway: type.objectName('Gateway that they attach to.'),
    gatewayNamespace: type.namespace('', "Namespace of the Gateway. Empty means the release's."),
    host: type.hostname('Host name of web. Empty means every host of the Gateway.'),
    oauthHost: type.hostname('Host name of oauth. Empty means that it is not exposed.'),
    extraHosts: moreHosts,
  }),

  serviceMonitor: group(
    'ServiceMonitors instead of PodMonitors, with a Service for the metrics of each component.',
    {
      enabled: boolean(false, 'Create them.'),
      labels: type.labels('Labels by which the operator finds them.', { release: 'prometheus' }),
      interval: type.duration('30s', 'Time between two scrapes.'),
    },
  ),

  prometheusRule: group('The alerts of all components, for the Prometheus operator.', {
    enabled: boolean(false, 'Create the PrometheusRules.'),
    labels: type.labels('Labels by which the operator finds them.', { release: 'prometheus' }),
  }),

  grafanaDashboards: group('The dashboards, for the sidecar of Grafana that reads ConfigMaps.', {
    enabled: boolean(false, 'Create the ConfigMaps.'),
    labels: type.labels('Labels by which the sidecar finds them.', { grafana_dashboard: '1' }),
    annotations: type.annotations('Annotations, such as the folder in Grafana.', {
      grafana_folder: 'Platform',
    }),
  }),

  podMonitor: group('PodMonitors for clusters that run the Prometheus operator.', {
    enabled: boolean(false, 'Create them.'),
    labels: type.labels('Labels by which the operator finds them.', { release: 'prometheus' }),
    interval: type.duration('30s', 'Time between two scrapes.'),
  }),
} as const
