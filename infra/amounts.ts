import { all, any, exceeds, isMore, isSet, not } from './template/operators.ts'
import type { Rule } from './template/rules.ts'
import { values } from './values.ts'

const { backup, buildkit, collector, dbProxy, internalRegistry, oauth, postgres, web, worker } =
  values

const scaled = { web, worker, oauth, collector }
const components = { ...scaled, postgres, dbProxy, buildkit, internalRegistry, backup }

const TARGETS = {
  cpu: 'targetCPUUtilizationPercentage',
  memory: 'targetMemoryUtilizationPercentage',
} as const

const AMOUNTS = ['cpu', 'memory', 'ephemeral-storage'] as const

/** The combinations of resources that Kubernetes refuses, or with which it does not scale. */
export const amounts: readonly Rule[] = [
  ...Object.entries(components).flatMap(([component, { resources }]) =>
    AMOUNTS.map((amount): Rule => {
      const [limit, request] = [resources.limits[amount], resources.requests[amount]]
      const [key, bound] = ['requests', 'limits'].map((side) => `resources.${side}.${amount}`)
      return {
        refuse: isMore(request, limit),
        message: `${component}.${key} must not exceed ${component}.${bound}`,
      }
    }),
  ),
  ...Object.entries(scaled).flatMap(([component, { autoscaling, resources }]) =>
    (['cpu', 'memory'] as const).map((amount): Rule => {
      const target = TARGETS[amount]
      const isGiven = any(isSet(resources.requests[amount]), isSet(resources.limits[amount]))
      return {
        refuse: all(autoscaling.enabled, exceeds(autoscaling[target], 0), not(isGiven)),
        message:
          `${component}.resources.requests.${amount} is required while ` +
          `${component}.autoscaling.${target} aims at a part of it`,
      }
    }),
  ),
]
