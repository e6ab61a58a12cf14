import type { ApiObjectMetadata } from 'cdk8s'
import { Construct } from 'constructs'
import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import { digits, exceeds } from '../template/operators.ts'
import type { Condition, Symbolic } from '../template/operators.ts'
import { noted, when, whenGiven } from '../template/structure.ts'
import type { Templated } from '../template/structure.ts'
import type { Values } from '../values.ts'
import { create } from './create.ts'
import { labels } from './labels.ts'
import { nameOf } from './names.ts'
import { foreignKind } from './foreign-kind.ts'

/** What a component has to do, as KEDA finds it out. */
export interface WorkScaling {
  readonly isEnabled: Condition
  readonly pollingIntervalSeconds: Val<number>
  readonly triggers: readonly Templated<Trigger>[]
}

/** A trigger of KEDA, as far as it is used here. */
export interface Trigger {
  readonly type: string
  readonly name: string
  readonly metricType: 'AverageValue' | 'Value' | 'Utilization'
  /** The autoscaler asks for a metric more often than KEDA looks at its source. */
  readonly useCachedMetrics?: boolean
  readonly metadata: Readonly<Record<string, string>>
  readonly authenticationRef?: { readonly name: string }
}

/** `ScaledObject` of KEDA, as far as it is used here. */
const KedaScaledObject = foreignKind<ScaledObjectProps>('keda.sh/v1alpha1', 'ScaledObject')

interface ScaledObjectProps {
  readonly metadata: ApiObjectMetadata
  readonly spec: {
    readonly scaleTargetRef: { readonly name: string }
    readonly pollingInterval: number
    readonly minReplicaCount: number
    readonly maxReplicaCount: number
    readonly advanced?: {
      readonly horizontalPodAutoscalerConfig: {
        readonly behavior: k8s.HorizontalPodAutoscalerBehaviorV2
      }
    }
    readonly triggers: Trigger[]
  }
}

interface Scaling {
  readonly component: string
  readonly autoscaling: Symbolic<Values['web']['autoscaling']>
  readonly work: WorkScaling
}

/**
 * Scales a component by its work, and by what its pods use. A source that does not answer changes
 * nothing: the number of pods stays.
 */
export class ScaledObject extends Construct {
  constructor(scope: Construct, id: string, { component, autoscaling, work }: Scaling) {
    super(scope, id)
    create(this, KedaScaledObject, {
      metadata: {
        name: nameOf(component),
        labels: labels(component),
        annotations: {
          'validations.keda.sh/hpa-ownership': noted(
            'KEDA would refuse it while there is the HorizontalPodAutoscaler that it replaces, ' +
              'which Helm removes last.',
            'false',
          ),
        },
      },
      spec: {
        scaleTargetRef: { name: nameOf(component) },
        pollingInterval: work.pollingIntervalSeconds,
        minReplicaCount: autoscaling.minReplicas,
        maxReplicaCount: autoscaling.maxReplicas,
        advanced: {
          horizontalPodAutoscalerConfig: {
            behavior: whenGiven<k8s.HorizontalPodAutoscalerBehaviorV2>(autoscaling.behavior),
          },
        },
        triggers: [
          ...work.triggers,
          use('cpu', autoscaling.targetCPUUtilizationPercentage),
          use('memory', autoscaling.targetMemoryUtilizationPercentage),
        ],
      },
    })
  }
}

const use = (type: string, percentage: Val<number>) =>
  when<Trigger>(exceeds(percentage, 0), {
    type,
    name: type,
    metricType: 'Utilization',
    metadata: { value: digits(percentage) },
  })
