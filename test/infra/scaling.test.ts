import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { find, manifests, RELEASE } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const keda = {
  worker: { autoscaling: { enabled: true, keda: { enabled: true } } },
  collector: {
    autoscaling: {
      enabled: true,
      keda: { enabled: true, prometheusUrl: 'http://prometheus.monitoring:9090' },
    },
  },
} satisfies ValuesOverrides

const kindsOf = (objects: readonly Manifest[], name: string): readonly string[] =>
  objects
    .filter(({ metadata }) => metadata.name === `demo-${name}`)
    .map(({ kind }) => kind)
    .filter((kind) => ['HorizontalPodAutoscaler', 'ScaledObject'].includes(kind))

const triggersOf = (objects: readonly Manifest[], name: string): readonly Manifest[] =>
  find(objects, 'ScaledObject', name).spec.triggers

describe('autoscaling', () => {
  it.each(['web', 'worker', 'oauth', 'collector'])(
    'of %s is by CPU, by memory or by both, as fast as the values say',
    (component) => {
      const behavior = { scaleDown: { stabilizationWindowSeconds: 600 } }
      const metricsOf = (cpu: number, memory: number) =>
        find(
          manifests({
            [component]: {
              autoscaling: {
                enabled: true,
                targetCPUUtilizationPercentage: cpu,
                targetMemoryUtilizationPercentage: memory,
                behavior,
              },
            },
          }),
          'HorizontalPodAutoscaler',
          component,
        ).spec
      const target = (averageUtilization: number) => ({ type: 'Utilization', averageUtilization })
      const byCpu = { type: 'Resource', resource: { name: 'cpu', target: target(60) } }
      const byMemory = { type: 'Resource', resource: { name: 'memory', target: target(80) } }
      expect(metricsOf(60, 0)).toMatchObject({ metrics: [byCpu], behavior })
      expect(metricsOf(0, 80).metrics).toEqual([byMemory])
      expect(metricsOf(60, 80).metrics).toEqual([byCpu, byMemory])
    },
  )

  it('by KEDA takes the place of the HorizontalPodAutoscaler, and keeps its bounds', () => {
    const objects = manifests(keda)
    for (const component of ['worker', 'collector']) {
      expect(kindsOf(objects, component)).toEqual(['ScaledObject'])
      expect(find(objects, 'ScaledObject', component).spec).toMatchObject({
        scaleTargetRef: { name: `demo-${component}` },
        minReplicaCount: 2,
        maxReplicaCount: 10,
      })
      expect(find(objects, 'Deployment', component).spec).not.toHaveProperty('replicas')
      expect(find(objects, 'PodDisruptionBudget', component)).toBeDefined()
    }
    expect(kindsOf(manifests(), 'worker')).toEqual([])
  })

  it('of workers follows the queue, which KEDA reads at their Service', () => {
    const objects = manifests(keda)
    const url = 'http://demo-worker.prod:3001/queue'
    const [runs, wait, cpu, ...others] = triggersOf(objects, 'worker')
    expect(runs).toMatchObject({
      type: 'metrics-api',
      metricType: 'AverageValue',
      metadata: { url, valueLocation: 'runs', targetValue: '10' },
    })
    expect(wait).toMatchObject({
      metricType: 'Value',
      metadata: { url, valueLocation: 'oldest_seconds', targetValue: '30' },
    })
    expect(cpu).toMatchObject({ type: 'cpu', metadata: { value: '70' } })
    expect(others).toEqual([])
    const service = find(objects, 'Service', 'worker').spec
    expect(service.ports).toEqual([{ name: 'http', port: 3001, targetPort: 'http' }])
    expect(service.selector['app.kubernetes.io/component']).toBe('worker')
  })

  it('of workers has no other targets than the values ask for', () => {
    const scaling = {
      targetCPUUtilizationPercentage: 0,
      keda: { targetRuns: 3, targetWaitSeconds: 0 },
    }
    const objects = manifests({
      worker: {
        autoscaling: {
          ...keda.worker.autoscaling,
          ...scaling,
          keda: { enabled: true, ...scaling.keda },
        },
      },
    })
    expect(triggersOf(objects, 'worker')).toMatchObject([{ metadata: { targetValue: '3' } }])
  })

  it('of collectors follows how full their queues are, by Prometheus', () => {
    const [queue] = triggersOf(manifests(keda), 'collector')
    expect(queue).toMatchObject({
      type: 'prometheus',
      metadata: {
        serverAddress: 'http://prometheus.monitoring:9090',
        query:
          '100 * avg(collector_queue_bytes{namespace="prod"} / collector_queue_capacity_bytes)',
        threshold: '30',
      },
    })
    expect(queue).not.toHaveProperty('authenticationRef')
  })

  it('lets the namespace of KEDA in, and nobody else', () => {
    const callersOf = (overrides: ValuesOverrides): unknown =>
      find(manifests(overrides), 'NetworkPolicy', 'worker').spec.ingress.flatMap(
        ({ from }: Manifest) => from.map((peer: Manifest) => peer.namespaceSelector?.matchLabels),
      )
    const named = (name: string) => ({ 'kubernetes.io/metadata.name': name })
    expect(callersOf({})).toEqual([named('monitoring')])
    expect(callersOf({ ...keda, networkPolicy: { kedaNamespace: 'scaling' } })).toEqual([
      named('monitoring'),
      named('scaling'),
    ])
  })

  it.each<readonly [string, ValuesOverrides]>([
    [
      'worker.autoscaling.keda.enabled needs worker.autoscaling.enabled: true',
      { worker: { autoscaling: { keda: { enabled: true } } } },
    ],
    [
      'collector.autoscaling.keda.prometheusUrl is required',
      { collector: { autoscaling: { enabled: true, keda: { enabled: true } } } },
    ],
    [
      'web.autoscaling.targetCPUUtilizationPercentage or',
      { web: { autoscaling: { enabled: true, targetCPUUtilizationPercentage: 0 } } },
    ],
    [
      'web.resources.requests.memory is required while',
      {
        web: {
          autoscaling: { enabled: true, targetMemoryUtilizationPercentage: 80 },
          resources: { limits: { memory: null }, requests: { memory: null } },
        },
      },
    ],
    [
      'worker.autoscaling.behavior.scaleUp.policies: must have at least one policy',
      { worker: { autoscaling: { behavior: { scaleUp: { policies: [] } } } } },
    ],
  ])('is refused: %s', (message, overrides) => {
    expect(() => contextOf([overrides], RELEASE)).toThrow(message)
  })
})
