import type { ApiObjectMetadata } from 'cdk8s'
import { Construct } from 'constructs'
import { callsTo, deploymentOf, programNames } from './calls.ts'
import type { ProgramName } from './calls.ts'
import * as k8s from './k8s.ts'
import { labels, labelsWith, selectorLabels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { create } from './kit/create.ts'
import { chartFile } from './template/operators.ts'
import { noted, onlyWhen, spread } from './template/structure.ts'
import { values } from './values.ts'
import { foreignKind } from './kit/foreign-kind.ts'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** A group of alerts, as Prometheus has it. */
interface RuleGroup {
  readonly name: string
  readonly rules: readonly Alert[]
}

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

const folderOf = (component: string): string => `services/${component}/observability`

const { grafanaDashboards, podMonitor, prometheusRule, serviceMonitor } = values

/**
 * What the Prometheus operator and Grafana read; without the operator, Prometheus reads the
 * annotations of the pods.
 */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    for (const name of programNames) {
      const call = callsTo(name).find(({ from }) => from === 'monitoring')
      if (call) onlyWhen(deploymentOf(name), new Monitored(this, name, call.port))
    }
  }
}

/** The monitors, alerts and dashboards of one component. */
class Monitored extends Construct {
  constructor(scope: Construct, component: ProgramName, port: string) {
    super(scope, component)
    onlyWhen(podMonitor.enabled, new Pods(this, component, port))
    onlyWhen(serviceMonitor.enabled, new Endpoints(this, component, port))
    const groups = alertsOf(component)
    if (groups.length > 0) onlyWhen(prometheusRule.enabled, new Alerts(this, component, groups))
    const dashboards = dashboardsOf(component)
    if (dashboards.length > 0)
      onlyWhen(grafanaDashboards.enabled, new Dashboards(this, component, dashboards))
  }
}

/** The kinds of the Prometheus operator, as far as they are used here. */
const PodMonitor = foreignKind<PodMonitorProps>('monitoring.coreos.com/v1', 'PodMonitor')
const ServiceMonitor = foreignKind<ServiceMonitorProps>(
  'monitoring.coreos.com/v1',
  'ServiceMonitor',
)
const PrometheusRule = foreignKind<PrometheusRuleProps>(
  'monitoring.coreos.com/v1',
  'PrometheusRule',
)

interface Endpoint {
  readonly port: string
  readonly path: string
  readonly interval: string
}

interface Selector {
  readonly matchLabels: Readonly<Record<string, string>>
}

interface PodMonitorProps {
  readonly metadata: ApiObjectMetadata
  readonly spec: { readonly selector: Selector; readonly podMetricsEndpoints: readonly Endpoint[] }
}

interface ServiceMonitorProps {
  readonly metadata: ApiObjectMetadata
  readonly spec: { readonly selector: Selector; readonly endpoints: readonly Endpoint[] }
}

interface PrometheusRuleProps {
  readonly metadata: ApiObjectMetadata
  readonly spec: { readonly groups: readonly RuleGroup[] }
}

class Pods extends Construct {
  constructor(scope: Construct, component: string, port: string) {
    super(scope, 'pods')
    create(this, PodMonitor, {
      metadata: {
        name: nameOf(component),
        labels: labelsWith(component, podMonitor.labels),
      },
      spec: {
        selector: { matchLabels: selectorLabels(component) },
        podMetricsEndpoints: [{ port, path: '/metrics', interval: podMonitor.interval }],
      },
    })
  }
}

/** Marks the Services for metrics: the others of a component lead to the same pods. */
const FOR_METRICS = { 'platform/metrics': 'true' }

class Endpoints extends Construct {
  constructor(scope: Construct, component: string, port: string) {
    super(scope, 'endpoints')
    create(this, k8s.KubeService, {
      metadata: {
        name: nameOf(`${component}-metrics`),
        labels: { ...labels(component), ...FOR_METRICS },
      },
      spec: {
        clusterIp: 'None',
        publishNotReadyAddresses: noted('A pod that is not ready has metrics that say why.', true),
        selector: selectorLabels(component),
        ports: [{ name: 'metrics', port: 9090, targetPort: k8s.IntOrString.fromString(port) }],
      },
    })
    create(this, ServiceMonitor, {
      metadata: {
        name: nameOf(component),
        labels: labelsWith(component, serviceMonitor.labels),
      },
      spec: {
        selector: { matchLabels: { ...selectorLabels(component), ...FOR_METRICS } },
        endpoints: [{ port: 'metrics', path: '/metrics', interval: serviceMonitor.interval }],
      },
    })
  }
}

class Alerts extends Construct {
  constructor(scope: Construct, component: string, groups: readonly RuleGroup[]) {
    super(scope, 'alerts')
    create(this, PrometheusRule, {
      metadata: {
        name: nameOf(component),
        labels: labelsWith(component, prometheusRule.labels),
      },
      spec: { groups },
    })
  }
}

class Dashboards extends Construct {
  constructor(
    scope: Construct,
    component: string,
    dashboards: readonly (readonly [file: string, content: string])[],
  ) {
    super(scope, 'dashboards')
    const data = dashboards.map(
      ([file, content]) => [file, chartFile(`dashboards/${file}`, content)] as const,
    )
    create(this, k8s.KubeConfigMap, {
      metadata: {
        name: nameOf(`${component}-dashboards`),
        labels: labelsWith(component, grafanaDashboards.labels),
        annotations: spread(grafanaDashboards.annotations),
      },
      data: Object.fromEntries(data),
    })
  }
}

/** The alerts that a component ships. */
function alertsOf(component: string): readonly RuleGroup[] {
  const file = `${folderOf(component)}/alerts.yaml`
  if (!existsSync(file)) return []
  const { groups }: { readonly groups: readonly RuleGroup[] } = parse(readFileSync(file, 'utf8'))
  return groups.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => ({ ...rule, expr: rule.expr.trim() })),
  }))
}

/** The dashboards that a component ships, by the names under which Grafana gets them. */
function dashboardsOf(component: string): readonly (readonly [string, string])[] {
  const folder = folderOf(component)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => [`${component}-${name}`, readFileSync(`${folder}/${name}`, 'utf8')] as const)
}
