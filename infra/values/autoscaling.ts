import type { ItemRule } from '../template/item-rules.ts'
import { boolean, group, integer, list, object, string, word } from '../template/schema.ts'
import * as type from '../value-types.ts'

const withPolicies: ItemRule = {
  where: { member: 'policies', is: 'there' },
  needs: { member: 'policies', is: 'not empty' },
  message: 'must have at least one policy; leave it out for the defaults of Kubernetes',
}

const direction = (doc: string) =>
  object(
    doc,
    {
      stabilizationWindowSeconds: integer(0, 'How far back earlier results count.', {
        min: 0,
        max: 3600,
      }),
      selectPolicy: word(['Max', 'Min', 'Disabled'], 'Max', 'The policy of several that counts.'),
      policies: list(
        'How much at a time.',
        {
          type: word(['Pods', 'Percent'], 'Pods', 'What `value` counts.'),
          value: integer(1, 'How many.', { min: 1, max: 1000 }),
          periodSeconds: integer(60, 'In what time.', { min: 1, max: 1800 }),
        },
        { required: ['type', 'value', 'periodSeconds'] },
      ),
    },
    { rules: [withPolicies] },
  )

const percentage = (value: number, what: string) =>
  integer(
    value,
    `${what} use, in percent of the request, that it aims at. 0 means that it does not look at it.`,
    { min: 0, max: 1000 },
  )

const members = {
  enabled: boolean(false, 'Create it.'),
  minReplicas: integer(2, 'Fewest pods.', { min: 1, max: 1000 }),
  maxReplicas: integer(10, 'Most pods.', { min: 1, max: 1000 }),
  targetCPUUtilizationPercentage: percentage(70, 'CPU'),
  targetMemoryUtilizationPercentage: percentage(0, 'Memory'),
  behavior: object(
    'How fast it adds and removes pods, as in a HorizontalPodAutoscaler.',
    {
      scaleUp: direction('How fast it adds pods.'),
      scaleDown: direction('How fast it removes pods.'),
    },
    {
      name: 'behavior',
      example: {
        scaleDown: {
          stabilizationWindowSeconds: 600,
          policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }],
        },
      },
    },
  ),
}

const DOC = 'A HorizontalPodAutoscaler that sets the number of pods instead of `replicaCount`.'

/** Replicas that follow the load. */
export const autoscaling = group(DOC, members)

const POLLING = integer(15, 'Seconds between two looks.', { min: 5, max: 3600 })
const enabled = boolean(
  false,
  'Create a ScaledObject of KEDA instead of the HorizontalPodAutoscaler; KEDA makes one itself. ' +
    'Needs `autoscaling.enabled`.',
)

/** Workers that follow the queue of runs. */
export const queueScaling = group(DOC, {
  ...members,
  keda: group('KEDA, which counts the runs that workers have and those that wait for one.', {
    enabled,
    targetRuns: integer(
      0,
      'Runs for each worker, those in hand and those that wait. 0 means `worker.concurrency`.',
      { min: 0, max: 1000 },
    ),
    targetWaitSeconds: integer(
      30,
      'How long the first run may wait for a worker: twice as long doubles the workers. 0 means ' +
        'that it does not look at it.',
      { min: 0, max: 86_400 },
    ),
    pollingIntervalSeconds: POLLING,
  }),
})

/** Collectors that follow what they have not written yet. */
export const pressureScaling = group(DOC, {
  ...members,
  keda: group('KEDA, which looks at the memory that spans take before they are written.', {
    enabled,
    prometheusUrl: type.optionalUrl(
      'Address of a Prometheus, or of what answers like it, that reads the metrics of the ' +
        'collectors: each has a queue of its own, so only their average says something.',
    ),
    query: string(
      '',
      'Query whose one number is how full the queues are, in percent. Empty means the average of ' +
        "the collectors of the release's namespace, by the label `namespace`.",
    ),
    triggerAuthentication: type.objectName(
      'TriggerAuthentication of yours for that Prometheus. Empty means none.',
    ),
    targetQueuePercentage: integer(
      30,
      'How full the queues may be on average before there are more collectors.',
      { min: 1, max: 100 },
    ),
    pollingIntervalSeconds: POLLING,
  }),
})
