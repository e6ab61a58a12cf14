import { all, exceeds, isSet, not } from './template/operators.ts'
import type { Condition } from './template/operators.ts'
import type { Rule } from './template/rules.ts'
import { values } from './values.ts'

const { collector, oauth, web, worker } = values

const refuse = (message: string, ...conditions: readonly Condition[]): Rule => ({
  refuse: all(...conditions),
  message,
})

const byUse = { web, oauth, worker, collector }
const byWork = { worker, collector }

/** The combinations of values with which an autoscaler could not work. */
export const scalingRules: readonly Rule[] = [
  ...Object.entries(byUse).map(([component, { autoscaling }]) =>
    refuse(
      `${component}.autoscaling.minReplicas must not exceed ${component}.autoscaling.maxReplicas`,
      autoscaling.enabled,
      exceeds(autoscaling.minReplicas, autoscaling.maxReplicas),
    ),
  ),
  // Kubernetes would take 80 % of the CPU, which nobody asked for.
  ...Object.entries(byUse).map(([component, { autoscaling }]) =>
    refuse(
      `${component}.autoscaling.targetCPUUtilizationPercentage or ` +
        `${component}.autoscaling.targetMemoryUtilizationPercentage must be more than 0 while ` +
        `${component}.autoscaling.enabled is true`,
      autoscaling.enabled,
      not(exceeds(autoscaling.targetCPUUtilizationPercentage, 0)),
      not(exceeds(autoscaling.targetMemoryUtilizationPercentage, 0)),
      ...('keda' in autoscaling ? [not(autoscaling.keda.enabled)] : []),
    ),
  ),
  ...Object.entries(byWork).map(([component, { autoscaling }]) =>
    refuse(
      `${component}.autoscaling.keda.enabled needs ${component}.autoscaling.enabled: true`,
      autoscaling.keda.enabled,
      not(autoscaling.enabled),
    ),
  ),
  refuse(
    'collector.autoscaling.keda.prometheusUrl is required with collector.autoscaling.keda.enabled',
    collector.autoscaling.keda.enabled,
    not(isSet(collector.autoscaling.keda.prometheusUrl)),
  ),
]
