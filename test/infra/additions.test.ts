import { describe, expect, it } from 'vitest'
import { TAKEN } from '../../infra/own-names.ts'
import { contextOf, platformFiles } from '../../infra/render.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import {
  chartStream,
  containersOf,
  find,
  manifests,
  podsOf,
  RELEASE,
  tree,
} from './support/platform.ts'
import type { Manifest } from './support/platform.ts'
import { expectSameObjects } from './support/same-objects.ts'

const deployment = (name: string, overrides: ValuesOverrides): Manifest =>
  find(manifests(overrides), 'Deployment', name)
const podOf = (name: string, overrides: ValuesOverrides): Manifest =>
  deployment(name, overrides).spec.template.spec
const refusal =
  (overrides: object): (() => unknown) =>
  () =>
    platformFiles(contextOf([overrides], RELEASE), tree)

const COMPONENTS = Object.entries({
  web: 'web',
  worker: 'worker',
  oauth: 'oauth',
  collector: 'collector',
  postgres: 'postgres',
  buildkit: 'buildkit',
  internalRegistry: 'internal-registry',
})

describe('all objects', () => {
  const given = { commonLabels: { team: 'a' }, commonAnnotations: { 'example.com/owner': 'b' } }
  const objects = manifests({ ...given, web: { replicaCount: 2, podLabels: { team: 'web' } } })

  it('have the common labels and annotations', () => {
    for (const { metadata } of objects) {
      expect(metadata.labels).toMatchObject({ team: 'a' })
      expect(metadata.annotations).toMatchObject({ 'example.com/owner': 'b' })
    }
  })

  it('give the labels to their pods, where those of the component win', () => {
    for (const { owner, pod } of podsOf(objects)) {
      expect(pod.metadata.labels.team).toBe(owner === 'Deployment demo-web' ? 'web' : 'a')
      expect(pod.metadata.annotations ?? {}).not.toHaveProperty(['example.com/owner'])
    }
  })

  it('never have them in a selector', () => {
    const selectors = objects.flatMap(({ spec = {} }) => [spec.selector, spec.podSelector])
    expect(JSON.stringify(selectors)).not.toContain('team')
  })

  it.each([
    [{ nameOverride: 'crews' }, 'demo-crews-web'],
    [{ nameOverride: 'crews', fullnameOverride: 'mine' }, 'mine-web'],
    [{ nameOverride: 'a'.repeat(40) }, `demo-${'a'.repeat(26)}-07160df3-web`],
  ])('are named by %j', (overrides, name) => {
    const [deployed] = manifests(overrides).filter(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('web'),
    )
    expect(deployed.metadata.name).toBe(name)
  })
})

describe('extraObjects', () => {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'mine' },
    data: { a: '' },
  }

  it('are objects of the deployment, as they are given', () => {
    expect(manifests({ extraObjects: [object] }).at(-1)).toEqual(object)
  })

  it.each([
    [{ ...object, metadata: {} }, 'extraObjects[0].metadata.name: is required'],
    [{ ...object, kind: '' }, 'extraObjects[0].kind: got ""'],
    ['text', 'extraObjects[0]: expected a map, got "text"'],
    [{ ...object, data: null }, 'extraObjects[0].data: expected a text, a number'],
    [{ ...object, data: { a: '\u0007' } }, 'extraObjects[0].data.a: expected a text without'],
  ])('are refused as %j', (extra, message) => {
    expect(refusal({ extraObjects: [extra] })).toThrow(message)
  })

  it('are refused under the name of another object', () => {
    const metadata = { name: 'demo-web', namespace: 'prod' }
    expect(refusal({ extraObjects: [{ apiVersion: 'v1', kind: 'Service', metadata }] })).toThrow(
      'Service prod demo-web is there twice',
    )
  })
})

describe.each(COMPONENTS)('the pods of %s', (component, name) => {
  const sidecar = { name: 'shipper', image: 'shipper:1', resources: { limits: { cpu: 0.5 } } }
  const restricted = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
  const overrides = {
    [component]: {
      extraEnv: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'mine', key: 'key' } } }],
      envFrom: [{ secretRef: { name: 'mine' } }],
      extraVolumes: [{ name: 'mine', emptyDir: { sizeLimit: '1Gi' } }],
      extraVolumeMounts: [{ name: 'mine', mountPath: '/mine' }],
      extraInitContainers: [{ ...sidecar, restartPolicy: 'Always' }],
      extraContainers: [{ ...sidecar, name: 'beside' }],
      podSecurityContext: restricted,
      securityContext: { ...restricted, runAsUser: 7 },
      hostAliases: [{ ip: '10.0.0.1', hostnames: ['models'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.10'] },
      runtimeClassName: 'gvisor',
      livenessProbe: { failureThreshold: 9, initialDelaySeconds: 3 },
      revisionHistoryLimit: 1,
      terminationGracePeriodSeconds: component === 'worker' ? undefined : 77,
      serviceAccount: { annotations: { role: name } },
    },
  }
  const given = JSON.parse(JSON.stringify(overrides)) as ValuesOverrides
  const objects = manifests(given)
  const owner = objects.find(
    ({ kind, metadata }) => /Deployment|StatefulSet/.test(kind) && metadata.name === `demo-${name}`,
  )
  const pod = owner.spec.template.spec
  const main = pod.containers.find(({ env }: Manifest) =>
    env?.some((variable: Manifest) => variable.name === 'KEY'),
  )

  it('have what is added, in the main container', () => {
    const { variable, ...added } = partsOf(main)
    expect(variable).toEqual({
      name: 'KEY',
      valueFrom: { secretKeyRef: { name: 'mine', key: 'key' } },
    })
    expect(added).toMatchObject({
      envFrom: { secretRef: { name: 'mine' } },
      mount: { name: 'mine', mountPath: '/mine' },
      securityContext: { ...restricted, runAsUser: 7 },
    })
    expect(pod.volumes).toContainEqual({ name: 'mine', emptyDir: { sizeLimit: '1Gi' } })
    expect(pod.initContainers[0]).toEqual({ ...sidecar, restartPolicy: 'Always' })
    expect(pod.containers.at(-1)).toEqual({ ...sidecar, name: 'beside' })
  })

  it('have what is set otherwise', () => {
    expect(pod).toMatchObject({
      securityContext: restricted,
      hostAliases: [{ ip: '10.0.0.1', hostnames: ['models'] }],
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.10'] },
      runtimeClassName: 'gvisor',
    })
    expect(pod.securityContext).toEqual(restricted)
    expect(owner.spec.revisionHistoryLimit).toBe(1)
    if (component !== 'worker') expect(pod.terminationGracePeriodSeconds).toBe(77)
    const [probed] = pod.containers.filter(({ livenessProbe }: Manifest) => livenessProbe)
    expect(probed.livenessProbe).toMatchObject({ failureThreshold: 9, initialDelaySeconds: 3 })
    expect(find(objects, 'ServiceAccount', name).metadata.annotations).toEqual({ role: name })
  })

  it('are the same in the chart', () => {
    const files = platformFiles(contextOf([given], RELEASE), tree)
    const context = contextOf([given], RELEASE)
    expectSameObjects(chartStream(context), [...files.values()].join('---\n'))
  })

  it('refuse a name or a place that the chart takes, and every one of these is known', () => {
    const taken = TAKEN[component as keyof typeof TAKEN]
    for (const volume of taken.volumes) {
      expect(refusal({ [component]: { extraVolumes: [{ name: volume }] } })).toThrow(
        `${component}.extraVolumes need a name of its own`,
      )
    }
    const everything = podOfKind(component, name)
    const own = containersOf({ spec: everything }).map((container) => container.name)
    expect(taken.containers).toEqual(expect.arrayContaining(own))
    const volumes = (everything.volumes ?? []).map((volume: Manifest) => volume.name)
    expect(taken.volumes).toEqual(expect.arrayContaining(volumes))
    const [first] = everything.containers.filter(
      (container: Manifest) => container.name === taken.containers[0],
    )
    const mounts = first.volumeMounts.map(({ mountPath }: Manifest) => mountPath)
    expect(taken.mounts).toEqual(expect.arrayContaining(mounts))
  })
})

/** The pod of a component with all that the chart has for it. */
function podOfKind(component: string, name: string): Manifest {
  const objects = manifests({
    global: { caBundle: { secret: 'ca' } },
    collector: {
      grpc: { enabled: true, tlsSecret: 'tls' },
      config: { prices: '{"prices":[]}', redact: { expressionsSecret: 'mine' } },
    },
    buildkit: { tlsSecret: 'tls' },
    internalRegistry: component === 'internalRegistry' ? { htpasswdSecret: 'users' } : {},
  })
  const [owner] = objects.filter(
    ({ kind, metadata }) => /Deployment|StatefulSet/.test(kind) && metadata.name === `demo-${name}`,
  )
  return owner.spec.template.spec
}

/** The last of what a container has, where additions stand. */
const partsOf = ({ env, envFrom, volumeMounts, securityContext }: Manifest) => ({
  variable: env.at(-1),
  envFrom: envFrom.at(-1),
  mount: volumeMounts.at(-1),
  securityContext,
})

describe('what is added to a pod is refused by synth', () => {
  it.each([
    [{ extraContainers: [{ name: 'a', image: 'b', comand: [] }] }, 'containers[1].comand'],
    [{ extraContainers: [{ name: 'a', image: 'b', ports: {} }] }, 'ports'],
    [{ extraContainers: [{ name: 'a' }] }, 'web.extraContainers[0].image: is required'],
    [{ extraContainers: [{ name: 'web', image: 'b' }] }, 'extraContainers need a name of its own'],
    [
      { extraEnv: [{ name: 'PORT', value: '1' }] },
      'container web: the variable PORT is there twice',
    ],
    [{ extraVolumeMounts: [{ name: 'a', mountPath: '/a' }] }, 'there is no volume a to mount'],
    [{ extraVolumeMounts: [{ name: 'tmp', mountPath: '/tmp' }] }, 'need a mountPath of its own'],
    [{ extraVolumes: [{ name: 'a', downwardApi: {} }] }, 'volumes[1].downwardApi'],
    [{ dnsPolicy: 'None' }, 'web.dnsConfig is required with dnsPolicy None'],
    [{ extraContainers: {} }, 'web.extraContainers: expected a list, got {}'],
    [{ lifecycle: [] }, 'web.lifecycle: expected a map, got []'],
    [{ lifecycle: null }, 'web.lifecycle: null removes the default'],
  ])('as %j', (web, message) => {
    expect(refusal({ web })).toThrow(message)
  })
})

describe('a component', () => {
  it('is rolled as its strategy says, instead of without a gap', () => {
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } }
    expect(deployment('web', { web: { strategy } }).spec.strategy).toEqual(strategy)
    expect(deployment('web', {}).spec.strategy.rollingUpdate).toEqual({
      maxSurge: 1,
      maxUnavailable: 0,
    })
  })

  it('spreads by its own constraints, instead of the common one', () => {
    const constraint = { maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }
    const pod = podOf('web', { web: { topologySpreadConstraints: [constraint] } })
    expect(pod.topologySpreadConstraints).toEqual([constraint])
  })

  it.each([
    [{}, { maxUnavailable: 1 }],
    [{ maxUnavailable: 2 }, { maxUnavailable: 2 }],
    [{ minAvailable: 2 }, { minAvailable: 2 }],
    [{ maxUnavailablePercentage: 25 }, { maxUnavailable: '25%' }],
    [{ minAvailable: 2, minAvailablePercentage: 50 }, { minAvailable: '50%' }],
  ])('may be disrupted as %j says', (podDisruptionBudget, expected) => {
    const { spec } = find(
      manifests({ web: { replicaCount: 3, podDisruptionBudget } }),
      'PodDisruptionBudget',
      'web',
    )
    expect({ ...spec, selector: {} }).toEqual({
      ...expected,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: {},
    })
  })

  it('may have no disruption budget', () => {
    const web = { replicaCount: 3, podDisruptionBudget: { enabled: false } }
    expect(find(manifests({ web }), 'PodDisruptionBudget', 'web')).toBeUndefined()
  })

  it('may be reached through a load balancer', () => {
    const service = {
      type: 'LoadBalancer',
      nodePort: 30_080,
      loadBalancerSourceRanges: ['203.0.113.0/24'],
      annotations: { 'example.com/internal': 'true' },
    } as const
    const { metadata, spec } = find(manifests({ web: { service } }), 'Service', 'web')
    expect(metadata.annotations).toEqual({ 'example.com/internal': 'true' })
    expect(spec).toMatchObject({
      type: 'LoadBalancer',
      ports: [{ nodePort: 30_080 }],
      loadBalancerSourceRanges: ['203.0.113.0/24'],
    })
    const inside = { ...service, type: 'ClusterIP' } as const
    const closed = find(manifests({ web: { service: inside } }), 'Service', 'web').spec
    expect(Object.keys(closed).toSorted()).toEqual(['ports', 'selector', 'type'])
    expect(closed.ports[0]).not.toHaveProperty('nodePort')
  })

  it('may have more hosts, with certificates of their own', () => {
    const extraTls = [{ secretName: 'other', hosts: ['b.example.com'] }]
    const { spec } = find(
      manifests({
        ingress: {
          enabled: true,
          host: 'a.example.com',
          extraHosts: ['b.example.com'],
          tlsSecret: 'tls',
          extraTls,
        },
      }),
      'Ingress',
      'web',
    )
    expect(spec.rules.map(({ host }: Manifest) => host)).toEqual(['a.example.com', 'b.example.com'])
    expect(spec.tls).toEqual([
      { secretName: 'tls', hosts: ['a.example.com', 'b.example.com'] },
      ...extraTls,
    ])
    expect(refusal({ ingress: { extraHosts: ['b.example.com'] } })).toThrow(
      'ingress.host is required with ingress.extraHosts',
    )
  })
})

describe('a volume', () => {
  it('is kept after an uninstall unless retain is off', () => {
    const kept = manifests()
    const given = manifests({
      postgres: { storage: { retain: false } },
      internalRegistry: { storage: { retain: false } },
    })
    const policy = (objects: readonly Manifest[]): unknown =>
      find(objects, 'StatefulSet', 'postgres').spec.persistentVolumeClaimRetentionPolicy
    expect(policy(kept)).toBeUndefined()
    expect(policy(given)).toEqual({ whenDeleted: 'Delete', whenScaled: 'Retain' })
    const annotations = (objects: readonly Manifest[]): unknown =>
      find(objects, 'PersistentVolumeClaim', 'internal-registry').metadata.annotations
    expect(annotations(kept)).toEqual({ 'helm.sh/resource-policy': 'keep' })
    expect(annotations(given)).toBeUndefined()
  })
})
