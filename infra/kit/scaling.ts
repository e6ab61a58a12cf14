import * as k8s from '../k8s.ts'
import { Construct } from 'constructs'
import type { Val } from '../template/expression.ts'
import { all, any, exceeds, isSet, not, numberOrShare } from '../template/operators.ts'
import type { Symbolic } from '../template/operators.ts'
import { partWith } from '../template/parts.ts'
import { create } from './create.ts'
import { noted, intOrString, onlyWhen, When, when, whenGiven } from '../template/structure.ts'
import type { Values } from '../values.ts'
import { labels, selectorLabels } from './labels.ts'
import { nameOf } from './names.ts'
import { ScaledObject } from './keda.ts'
import type { WorkScaling } from './keda.ts'

interface Scaled {
  readonly replicaCount: Val<number>
  readonly autoscaling: Symbolic<Values['web']['autoscaling']>
  readonly podDisruptionBudget: Symbolic<Values['web']['podDisruptionBudget']>
}

/** The `replicas` of a Deployment; an apply must not undo what an autoscaler has set. */
export const replicasOf = ({
  replicaCount,
  autoscaling,
}: Omit<Scaled, 'podDisruptionBudget'>): When<Val<number>> =>
  new When(not(autoscaling.enabled), replicaCount)

/**
 * Adds the autoscaler and the disruption budget of a component. With `work`, the autoscaler is one
 * of KEDA while the values ask for it: two would undo each other.
 */
export function scale(
  scope: Construct,
  component: string,
  { work, ...scaled }: Scaled & { readonly work?: WorkScaling },
): void {
  const { autoscaling, replicaCount, podDisruptionBudget } = scaled
  const isMany = any(
    all(autoscaling.enabled, exceeds(autoscaling.minReplicas, 1)),
    all(not(autoscaling.enabled), exceeds(replicaCount, 1)),
  )
  const isAsked = autoscaling.enabled
  const byUse = work ? all(isAsked, not(work.isEnabled)) : isAsked
  onlyWhen(byUse, new ScaledByUse(scope, component, autoscaling))
  if (work)
    onlyWhen(
      all(isAsked, work.isEnabled),
      new ScaledObject(scope, 'keda', { component, autoscaling, work }),
    )
  const budget = onlyWhen(
    all(podDisruptionBudget.enabled, isMany),
    new Construct(scope, 'disruption'),
  )
  create(budget, k8s.KubePodDisruptionBudget, {
    metadata: { name: nameOf(component), labels: labels(component) },
    spec: {
      ...budgetBounds({ budget: podDisruptionBudget }),
      unhealthyPodEvictionPolicy: noted(
        'A pod that is not ready protects nothing, and must not hold up the draining of its node.',
        'AlwaysAllow',
      ),
      selector: { matchLabels: selectorLabels(component) },
    },
  })
}

const budgetBounds = partWith(
  {
    name: 'platform.disruptionBounds',
    comment: 'How many pods stay, or how many may go, by the values of podDisruptionBudget.',
  },
  ({ budget }: { budget: Scaled['podDisruptionBudget'] }) => bounds(budget),
)

const bounds = (given: Scaled['podDisruptionBudget']) => {
  const isLeast = any(isSet(given.minAvailable), isSet(given.minAvailablePercentage))
  const least = numberOrShare(given.minAvailable, given.minAvailablePercentage)
  const most = numberOrShare(given.maxUnavailable, given.maxUnavailablePercentage)
  return {
    minAvailable: new When(isLeast, intOrString(least)),
    maxUnavailable: new When(not(isLeast), intOrString(most)),
  }
}

/** The HorizontalPodAutoscaler, by what pods use of the resources that they request. */
class ScaledByUse extends Construct {
  constructor(scope: Construct, component: string, autoscaling: Scaled['autoscaling']) {
    super(scope, 'autoscaling')
    create(this, k8s.KubeHorizontalPodAutoscalerV2, {
      metadata: { name: nameOf(component), labels: labels(component) },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: nameOf(component) },
        ...targets({ autoscaling }),
      },
    })
  }
}

const targets = partWith(
  { name: 'platform.autoscaling', comment: 'The bounds and targets of an autoscaler.' },
  ({ autoscaling }: Pick<Scaled, 'autoscaling'>) => ({
    minReplicas: autoscaling.minReplicas,
    maxReplicas: autoscaling.maxReplicas,
    metrics: [
      use('cpu', autoscaling.targetCPUUtilizationPercentage),
      use('memory', autoscaling.targetMemoryUtilizationPercentage),
    ],
    behavior: whenGiven<k8s.HorizontalPodAutoscalerBehaviorV2>(autoscaling.behavior),
  }),
)

const use = (name: string, averageUtilization: Val<number>) =>
  when<k8s.MetricSpecV2>(exceeds(averageUtilization, 0), {
    type: 'Resource',
    resource: { name, target: { type: 'Utilization', averageUtilization } },
  })
