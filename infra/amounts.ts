import { Val } from './template/expression.ts'
import { all, any, exceeds, isMore, isSet, lift, not, plus } from './template/operators.ts'
import type { Rule } from './template/rules.ts'
import { values } from './values.ts'

const { backup, buildkit, collector, dbProxy, internalRegistry, oauth, postgres, web, worker } =
  values

const scaled = { web, worker, oauth, collector }
const components = {
  ...scaled,
  postgres,
  dbProxy,
  buildkit,
  internalRegistry,
  backup,
  'collector.archive': collector.archive,
}

const TARGETS = {
  cpu: 'targetCPUUtilizationPercentage',
  memory: 'targetMemoryUtilizationPercentage',
} as const

const AMOUNTS = ['cpu', 'memory', 'ephemeral-storage'] as const

const graces = { web, oauth, collector, buildkit, internalRegistry }

/** The pause of a container at one moment of its life; 0 without one. */
const pauseAt = (moment: string, { expression }: Val<unknown>): Val<number> => {
  const path = [moment, 'sleep', 'seconds'].map(lift)
  return new Val({ op: 'call', fn: 'dig', args: [...path, lift(0), expression] }, 'number')
}

/** A container may not pause for longer than its pod has to end. */
const pauses = [
  ...Object.entries(graces).map(([name, { lifecycle, terminationGracePeriodSeconds: grace }]) => ({
    name,
    lifecycle,
    grace,
    bound: `${name}.terminationGracePeriodSeconds`,
  })),
  {
    name: 'worker',
    lifecycle: worker.lifecycle,
    grace: plus(worker.drainSeconds, 30),
    bound: 'worker.drainSeconds and 30 seconds',
  },
].flatMap(({ name, lifecycle, grace, bound }) =>
  ['preStop', 'postStart'].map((moment): Rule => ({
    refuse: exceeds(pauseAt(moment, lifecycle), grace),
    message: `${name}.lifecycle.${moment}.sleep.seconds must not exceed ${bound}`,
  })),
)

/**
 * The combinations of amounts and times that Kubernetes refuses, or with which it does not scale.
 */
export const amounts: readonly Rule[] = [
  ...pauses,
  {
    refuse: all(
      collector.archive.enabled,
      not(exceeds(collector.archive.coldDays, collector.archive.hotDays)),
    ),
    message: 'collector.archive.hotDays must be below collector.archive.coldDays',
  },
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
