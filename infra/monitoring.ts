import { ApiObject } from 'cdk8s'
import type { ApiObjectMetadata, GroupVersionKind } from 'cdk8s'
import { Construct } from 'constructs'
import { callsTo, deploymentOf, programNames } from './calls.ts'
import { labelsWith, selectorLabels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { create } from './kit/create.ts'
import { onlyWhen } from './template/structure.ts'
import { values } from './values.ts'

const { podMonitor } = values

/**
 * PodMonitors for the Prometheus operator; without it, Prometheus reads the annotations of the
 * pods.
 */
export class Monitoring extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    for (const name of programNames) {
      const call = callsTo(name).find(({ from }) => from === 'monitoring')
      if (call) onlyWhen(deploymentOf(name), new Monitor(this, name, call.port))
    }
  }
}

/** `PodMonitor` of the Prometheus operator, as far as it is used here. */
class PodMonitor extends ApiObject {
  static readonly GVK: GroupVersionKind = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
  }

  constructor(scope: Construct, id: string, props: PodMonitorProps) {
    super(scope, id, { ...PodMonitor.GVK, ...props })
  }
}

interface PodMonitorProps {
  readonly metadata: ApiObjectMetadata
  readonly spec: {
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly podMetricsEndpoints: readonly {
      readonly port: string
      readonly path: string
      readonly interval: string
    }[]
  }
}

class Monitor extends Construct {
  constructor(scope: Construct, component: string, port: string) {
    super(scope, component)
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
