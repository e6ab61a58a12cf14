import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AppError } from '../../../../services/shared/errors.ts'
import { createKubernetes } from '../../../../services/shared/kubernetes/client.ts'
import type { CrewProgress, WantedCrew } from '../../../../services/worker/deployments/crew-host.ts'
import type {
  CrewCluster,
  ImageBuilder,
} from '../../../../services/worker/deployments/kubernetes/cluster-settings.ts'
import { createKubernetesHost } from '../../../../services/worker/deployments/kubernetes/kubernetes-host.ts'
import { CHECKS } from '../../../infra/support/kubernetes-schema.ts'
import { restrictedViolations } from '../../../infra/support/pod-security.ts'
import type { Manifest } from '../../../infra/support/platform.ts'
import { startImageRegistry } from '../../../support/image-registry.ts'
import { startKubernetes } from '../../../support/kubernetes.ts'
import type { KubernetesStub, RecordedCall, StoredObject } from '../../../support/kubernetes.ts'

const DIGEST = `sha256:${'ab'.repeat(32)}`
const CREW = '/apis/apps/v1/namespaces/crews/deployments/crew-7-42'
const POLICY = '/apis/networking.k8s.io/v1/namespaces/crews/networkpolicies/crew-7-42'
const JOB = '/apis/batch/v1/namespaces/crews/jobs/crew-7-42-build'
const POD = '/api/v1/namespaces/crews/pods/crew-7-42-6d5f7c9b8-x2x7q'
const signal = new AbortController().signal

const wanted: WantedCrew = {
  id: 42,
  number: 1,
  owner: { deploymentId: 7, automationId: 'a-7', organizationId: 3, slug: 'research' },
  way: 'slim',
  source: {
    id: 5,
    digest: 'd'.repeat(64),
    archiveSha256: 'a'.repeat(64),
    async *read() {},
  },
  settings: {
    pythonVersion: null,
    entrypoint: null,
    cpuRequest: null,
    cpuLimit: null,
    memoryRequest: null,
    memoryLimit: '2Gi',
    egress: ['internet', '10.1.0.0/16', 'api.test', 'search.tools.svc'],
  },
  replicas: 1,
  restartedAt: null,
  variables: { TOPIC: 'tides' },
  image: null,
  url: null,
  loggedUntil: undefined,
}

const builder: ImageBuilder = {
  image: 'moby/buildkit:rootless',
  address: 'tcp://platform-buildkit.platform:1234',
  registry: 'platform-internal-registry.platform:5000',
  pullAddress: async () => 'localhost:30500',
  certificates: async () => ({ ca: 'CA', cert: 'CERT', key: 'KEY' }),
  organizations: [],
  registryKey: 'k'.repeat(64),
  freeImages: async () => {},
}

let cluster: KubernetesStub
let said: string[]
let addresses: string[]
let rules: CrewCluster['reach']
const progress: CrewProgress = {
  state: (state) => void said.push(state),
  log: (stream, text) => void said.push(`${stream}: ${text.trimEnd()}`),
}

beforeEach(async () => {
  cluster = await startKubernetes()
  said = []
  addresses = ['8.8.4.4']
  rules = { hasPrivateRanges: false, ranges: ['10.1.0.0/16'], namespaces: ['tools'] }
})

afterEach(() => cluster.stop())

/** What the operator sets for programs that call addresses outside. */
type Outside = Partial<Pick<CrewCluster, 'caBundle' | 'proxy'>>

const createHost = (
  withBuilder?: ImageBuilder,
  requireBuild = async () => {},
  outside: Outside = {},
) =>
  createKubernetesHost({
    kubernetes: createKubernetes(cluster.address),
    cluster: {
      home: { namespace: 'platform', release: 'platform' },
      pythonImage: 'astral/uv:1-python3.13-bookworm-slim',
      pullPolicy: 'IfNotPresent',
      pullSecrets: [],
      hasArbitraryUser: false,
      isGuarded: true,
      reach: rules,
      modelOrigins: [],
      openNamespaces: ['models'],
      webUrl: 'http://platform-web.platform:80',
      maxima: { cpu: '2', memory: '4Gi' },
      proxy: {},
      ...(withBuilder && { builder: withBuilder }),
      ...outside,
    },
    gifts: {
      environmentOf: async ({ variables }) => ({
        ...variables,
        CREW_TOKEN: 'crew-token',
        OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20signed-${Date.now()}`,
      }),
      sourceUrlOf: () => 'http://platform-web.platform:80/sources/5/source.tar.gz?signature=s',
      indexesOf: () => 'platform=http://crew:read-token@platform-web.platform:80/tools/',
      modelHostsOf: async () => ({ chosen: [], given: ['model.models-2.svc'] }),
      lookUp: async () => addresses,
      requireBuild,
    },
    placeOf: async () => ({ namespace: 'crews', isolated: false }),
    patience: { stuckMs: 30, pollMs: 10 },
  })

const writes = (): readonly RecordedCall[] => cluster.calls.filter(({ method }) => method !== 'GET')
const applied = (): readonly Manifest[] =>
  writes().flatMap(({ method, body }) => (method === 'PATCH' ? [body as Manifest] : []))
const ofKind = (kind: string): Manifest => applied().findLast((object) => object.kind === kind)

/** The Deployment becomes ready as soon as it is there. */
function becomesReady(): void {
  cluster.intercept = ({ method, path }) => {
    const object = cluster.objects.get(CREW)
    if (method === 'GET' && path === CREW && object) {
      object['status'] = {
        observedGeneration: 9,
        replicas: 1,
        readyReplicas: 1,
        updatedReplicas: 1,
      }
    }
    return false
  }
}

function addPod(labels: unknown, status: object, path = POD): void {
  const name = path.split('/').at(-1)
  cluster.objects.set(path, { metadata: { name, labels }, status } as StoredObject)
}

const crashed = (exitCode: number, container: 'install' | 'crew', reason = 'Error') => ({
  [container === 'install' ? 'initContainerStatuses' : 'containerStatuses']: [
    {
      name: container,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: { terminated: { exitCode, reason } },
    },
  ],
})

const crewLabels = {
  'app.kubernetes.io/name': 'crew-from-source',
  'platform/automation': '7',
  'platform/deployment': '42',
}

describe('a crew from source in a cluster', () => {
  it('is a Deployment whose pods install it, which only workers reach', async () => {
    becomesReady()
    addPod(crewLabels, {})
    cluster.logs.set(`${POD}/log`, '2026-01-01T00:00:00.5Z Installing what uv.lock pins.\n')
    expect(await createHost().bringUp(wanted, progress, signal)).toEqual({
      outcome: 'online',
      url: 'http://crew-7-42.crews.svc:8000',
    })
    expect(said).toEqual(['Building', 'build: Installing what uv.lock pins.'])
    for (const [version, check] of Object.entries(CHECKS))
      expect(applied().flatMap(check), version).toEqual([])
    const { template } = ofKind('Deployment').spec
    expect(restrictedViolations('crew', template)).toEqual([])
    const [install] = template.spec.initContainers
    const [crew] = template.spec.containers
    expect(crew.resources.limits).toEqual({ cpu: '1', memory: '2Gi' })
    expect(crew.command.join(' ')).toContain('-m crew_runtime --project /crew/project')
    // Neither a secret nor a variable of the project stands in the Deployment itself.
    expect(JSON.stringify(template)).not.toMatch(/crew-token|read-token|signature|tides/)
    const fetched = install.env.filter(({ valueFrom }: Manifest) => valueFrom)
    expect(fetched.map(({ name }: Manifest) => name)).toEqual(['SOURCE_URL', 'UV_INDEX'])
    expect(fetched[0].valueFrom.secretKeyRef.name).toBe('crew-7-42-install')
    const { ingress, egress } = ofKind('NetworkPolicy').spec
    expect(ingress[0].from[0].podSelector.matchLabels).toMatchObject({
      'app.kubernetes.io/component': 'worker',
    })
    const { to } = egress.at(-1)
    expect(to.map(({ ipBlock }: Manifest) => ipBlock?.cidr).filter(Boolean)).toEqual([
      '0.0.0.0/0',
      '10.1.0.0/16',
      '8.8.4.4/32',
      '::/0',
    ])
    const named = to.flatMap(({ namespaceSelector }: Manifest) =>
      namespaceSelector ? Object.values(namespaceSelector.matchLabels) : [],
    )
    expect(named).toEqual(['models', 'models-2', 'tools'])
  })

  it('has 5 minutes to start; after 15 s of silence no calls, after 60 a restart', async () => {
    becomesReady()
    await createHost().bringUp(wanted, progress, signal)
    const [crew] = ofKind('Deployment').spec.template.spec.containers
    const seconds = [crew.startupProbe, crew.readinessProbe, crew.livenessProbe].map(
      ({ periodSeconds, failureThreshold }) => periodSeconds * failureThreshold,
    )
    expect(seconds).toEqual([300, 15, 60])
  })

  it('trusts the authorities of the operator, and is installed through the proxy', async () => {
    becomesReady()
    let pem = 'PEM of the company'
    const proxy = { HTTPS_PROXY: 'http://proxy.test:3128', NO_PROXY: '.svc' }
    const host = createHost(undefined, undefined, { caBundle: async () => pem, proxy })
    await host.bringUp(wanted, progress, signal)
    for (const check of Object.values(CHECKS)) expect(applied().flatMap(check)).toEqual([])
    const { template } = ofKind('Deployment').spec
    expect(restrictedViolations('crew', template)).toEqual([])
    const [trust, install] = template.spec.initContainers
    expect(trust.volumeMounts.map(({ name }: Manifest) => name)).toEqual(['given-ca', 'ca'])
    for (const { env, volumeMounts } of [install, template.spec.containers[0]]) {
      expect(env).toContainEqual({ name: 'SSL_CERT_FILE', value: '/etc/platform/ca/ca.crt' })
      expect(env).toContainEqual({ name: 'REQUESTS_CA_BUNDLE', value: '/etc/platform/ca/ca.crt' })
      expect(volumeMounts.at(-1)).toMatchObject({ mountPath: '/etc/platform/ca', readOnly: true })
    }
    const secrets = applied().filter(({ kind }) => kind === 'Secret')
    const dataOf = (name: string): Manifest =>
      secrets.find(({ metadata }) => metadata.name === name)?.['data']
    expect(atob(dataOf('crew-7-42')['ca.crt'])).toBe(pem)
    expect(atob(dataOf('crew-7-42-install')['HTTPS_PROXY'])).toBe(proxy.HTTPS_PROXY)
    expect(install.env.map(({ name }: Manifest) => name)).toEqual(
      expect.arrayContaining(Object.keys(proxy)),
    )
    addPod(crewLabels, {})
    pem = 'PEM of next year'
    const seen = await host.look(wanted, progress, signal)
    expect(seen).toMatchObject({ condition: 'drifted', reason: 'it was applied otherwise' })
  })

  it('is left alone while it is as it should be, and told of when it is not', async () => {
    becomesReady()
    const host = createHost()
    await host.bringUp(wanted, progress, signal)
    addPod(crewLabels, {})
    cluster.logs.set(`${POD}/log`, '2026-01-01T00:00:00Z one\n2026-01-01T00:00:05Z two\n')
    said.length = 0
    const before = writes().length
    const since = { ...wanted, loggedUntil: new Date('2026-01-01T00:00:00Z') }
    const online = { condition: 'online', url: 'http://crew-7-42.crews.svc:8000' }
    expect(await host.look(since, progress, signal)).toEqual(online)
    expect(said).toEqual(['crew: two'])
    const drifts: [Partial<WantedCrew>, string][] = [
      [{ replicas: 2 }, 'it was applied otherwise'],
      [{ restartedAt: new Date() }, 'it was applied otherwise'],
      [{ variables: { TOPIC: 'wind' } }, 'it was applied otherwise'],
    ]
    for (const [change, reason] of drifts) {
      const seen = await host.look({ ...wanted, ...change }, progress, signal)
      expect(seen).toEqual({ condition: 'drifted', reason, isServing: true })
    }
    addresses = ['8.8.4.5']
    const moved = await host.look(wanted, progress, signal)
    expect(moved).toMatchObject({ condition: 'drifted', isServing: true })
    cluster.objects.delete(POLICY)
    expect(await host.look(wanted, progress, signal)).toMatchObject({
      reason: 'its NetworkPolicy is gone',
    })
    expect(writes()).toHaveLength(before)
  })

  it('loses what the operator no longer allows, and says so', async () => {
    becomesReady()
    addresses = ['8.8.4.4', '10.96.0.1']
    rules = { hasPrivateRanges: true, ranges: [], namespaces: undefined }
    await createHost().bringUp(wanted, progress, signal)
    const reached = () => JSON.stringify(ofKind('NetworkPolicy').spec.egress)
    for (const open of ['10.1.0.0/16', '10.96.0.1/32', '"tools"']) expect(reached()).toContain(open)
    rules = { hasPrivateRanges: false, ranges: [], namespaces: [] }
    const host = createHost()
    expect(await host.look(wanted, progress, signal)).toMatchObject({
      condition: 'drifted',
      reason: 'it reaches other addresses than it may',
    })
    said = []
    await host.bringUp(wanted, progress, signal)
    for (const shut of ['10.1.0.0/16', '10.96.0.1/32', '"tools"']) {
      expect(reached()).not.toContain(shut)
    }
    expect(reached()).toContain('8.8.4.4/32')
    for (const subject of [
      '10.1.0.0/16 is not among',
      'api.test has the address 10.96.0.1/32, not among',
      'search.tools.svc is a Service of the namespace tools',
    ]) {
      expect(said).toContainEqual(expect.stringContaining(subject))
    }
    expect((await host.look(wanted, progress, signal)).condition).toBe('online')
  })

  it.each([
    ['in its installation', 1, 'install', 'Error', /last lines/],
    ['when it runs', 1, 'crew', 'Error', /last lines/],
    ['for want of memory', 137, 'crew', 'OOMKilled', /raise the limit/],
  ] as const)('has failed with its last lines when it ends %s', async (...row) => {
    const [, exitCode, container, reason, expected] = row
    addPod(crewLabels, crashed(exitCode, container, reason))
    cluster.logs.set(`${POD}/log`, '2026-01-01T00:00:00Z ModuleNotFoundError: nowhere\n')
    const outcome = await createHost().bringUp(wanted, progress, signal)
    expect(outcome).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(expected),
      lastLines: 'ModuleNotFoundError: nowhere',
    })
  })

  it('is tried again when what it needs cannot be reached', async () => {
    addPod(crewLabels, crashed(75, 'install'))
    await expect(createHost().bringUp(wanted, progress, signal)).rejects.toThrow('does not start')
  })

  it('has failed when it asks for more than the operator allows', async () => {
    const settings = { ...wanted.settings, memoryLimit: '8Gi' }
    const outcome = await createHost().bringUp({ ...wanted, settings }, progress, signal)
    expect(outcome).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('4Gi') })
    expect(writes()).toEqual([])
  })

  it('keeps what its pods need until the last one has ended, then leaves nothing', async () => {
    becomesReady()
    const host = createHost()
    await host.bringUp(wanted, progress, signal)
    addPod(crewLabels, {})
    await host.keepOnly(wanted.owner, [42], signal)
    expect(cluster.objects.has(CREW)).toBe(true)
    await host.keepOnly(wanted.owner, [43], signal)
    expect(cluster.objects.has(CREW)).toBe(false)
    expect(cluster.objects.has(POLICY)).toBe(true)
    await expect(host.remove(wanted.owner, signal)).rejects.toThrow('still ending')
    cluster.objects.delete(POD)
    await host.remove(wanted.owner, signal)
    expect([...cluster.objects.keys()]).toEqual([])
  })

  it('gets a new token for its spans in time, and not with each look', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1) })
    try {
      becomesReady()
      const host = createHost()
      await host.bringUp(wanted, progress, signal)
      vi.setSystemTime(Date.UTC(2026, 0, 2))
      expect((await host.look(wanted, progress, signal)).condition).toBe('online')
      vi.setSystemTime(Date.UTC(2026, 1, 1))
      const late = await host.look(wanted, progress, signal)
      expect(late).toMatchObject({ condition: 'drifted', isServing: true })
      await host.bringUp(wanted, progress, signal)
      expect((await host.look(wanted, progress, signal)).condition).toBe('online')
    } finally {
      vi.useRealTimers()
    }
  })

  describe('as an image', () => {
    const REPOSITORY = 'org-3/crew-7'
    const asImage = { ...wanted, way: 'image' } as const
    let registry: Awaited<ReturnType<typeof startImageRegistry>>
    let digest: string

    beforeEach(async () => {
      registry = await startImageRegistry()
    })
    afterEach(() => registry.stop())

    const imageHost = (room = async () => {}, outside: Outside = {}) =>
      createHost({ ...builder, registry: registry.address }, room, outside)

    /** The Job ends as soon as it is looked at, and has pushed an image. */
    function buildsAtOnce(): void {
      becomesReady()
      const ready = cluster.intercept
      cluster.intercept = (call, response) => {
        const job = cluster.objects.get(JOB)
        if (call.method === 'GET' && call.path === JOB && job) {
          digest = registry.push(REPOSITORY, 'd42', 7000)
          job['status'] = { conditions: [{ type: 'Complete', status: 'True' }] }
          const state = { terminated: { exitCode: 0, message: `${digest}\n` } }
          const labels = { ...crewLabels, 'app.kubernetes.io/name': 'crew-build' }
          addPod(labels, { containerStatuses: [{ name: 'build', state }] }, `${POD}-build`)
          cluster.logs.set(`${POD}-build/log`, '2026-01-01T00:00:00Z #1 exporting\n')
        }
        return ready(call, response)
      }
    }

    it('is built with the authorities of the operator and through the proxy', async () => {
      buildsAtOnce()
      const proxy = { HTTPS_PROXY: 'http://proxy.test:3128' }
      const host = imageHost(undefined, { caBundle: async () => 'PEM', proxy })
      await host.bringUp(asImage, progress, signal)
      for (const check of Object.values(CHECKS)) expect(applied().flatMap(check)).toEqual([])
      const [build] = ofKind('Job').spec.template.spec.containers
      expect(build.command.at(-1)).toContain('--secret id=ca_bundle,src=/ca/ca.crt')
      const secrets = applied().filter(({ kind }) => kind === 'Secret')
      const { data } = secrets.find(({ metadata }) => metadata.name.endsWith('-build')) ?? {}
      expect(atob(data['ca.crt'])).toBe('PEM')
      expect(atob(data['PROXY_FLAGS'])).toBe('--opt build-arg:HTTPS_PROXY=http://proxy.test:3128')
      const { spec } = ofKind('Deployment').spec.template
      expect(spec.initContainers.map(({ name }: Manifest) => name)).toEqual(['trust'])
      expect(spec.containers[0].env).toContainEqual({
        name: 'SSL_CERT_FILE',
        value: '/etc/platform/ca/ca.crt',
      })
    })

    it('is built by a Job and deployed by digest, where BuildKit is there', async () => {
      buildsAtOnce()
      const host = imageHost()
      const outcome = await host.bringUp(asImage, progress, signal)
      const image = `localhost:30500/${REPOSITORY}@${digest}`
      expect(outcome).toMatchObject({ outcome: 'online', image, layers: [{}, { size: 7000 }] })
      expect(said).toEqual(['Building', 'build: #1 exporting', 'Deploying'])
      for (const check of Object.values(CHECKS)) expect(applied().flatMap(check)).toEqual([])
      const job = ofKind('Job')
      expect(restrictedViolations('build', job.spec.template)).toEqual([])
      expect(JSON.stringify(job)).not.toMatch(/read-token|signature|KEY"/)
      expect(cluster.objects.has(JOB)).toBe(false)
      const { spec } = ofKind('Deployment').spec.template
      expect(spec.containers[0].image).toBe(image)
      expect(spec).not.toHaveProperty('initContainers')
      expect(spec.imagePullSecrets).toEqual([{ name: 'crew-7-42-pull' }])
      // A worker that comes later finds the image in the record, and builds nothing.
      expect(await host.look({ ...asImage, image }, progress, signal)).toMatchObject({
        condition: 'online',
      })
      await host.bringUp({ ...asImage, image }, progress, signal)
      expect(said.filter((word) => word === 'Building')).toHaveLength(1)
    })

    it('is built again when the registry has lost the image', async () => {
      buildsAtOnce()
      const lost = `localhost:30500/${REPOSITORY}@${DIGEST}`
      expect(
        await imageHost().bringUp({ ...asImage, image: lost }, progress, signal),
      ).toMatchObject({ outcome: 'online', image: `localhost:30500/${REPOSITORY}@${digest}` })
    })

    it('is not built when the organization has no room for it', async () => {
      const host = imageHost(async () => {
        throw new AppError('conflict', 'There is no room.')
      })
      expect(await host.bringUp(asImage, progress, signal)).toEqual({
        outcome: 'failed',
        reason: 'There is no room.',
      })
      expect(applied()).toEqual([])
    })

    it('leaves the registry when nobody goes back to it, and takes no other with it', async () => {
      const host = imageHost()
      registry.push(REPOSITORY, 'd41', 41)
      const image = `localhost:30500/${REPOSITORY}@${registry.push(REPOSITORY, 'd42', 42)}`
      // The same source, deployed twice, makes one image.
      registry.push(REPOSITORY, 'd40', 42)
      registry.push(REPOSITORY, 'cache', 1)
      registry.push('org-3/crew-8', 'd50', 41)
      expect(await host.keepImages(wanted.owner, [image], signal)).toBe(1)
      const kept = ['cache', 'd40', 'd42'].map((tag) => `${REPOSITORY}:${tag}`)
      expect(registry.tags()).toEqual([...kept, 'org-3/crew-8:d50'])
      expect(registry.digests()).toHaveLength(3)
      expect(await host.keepImages(wanted.owner, [], signal)).toBe(2)
      expect(registry.tags()).toEqual(['org-3/crew-8:d50'])
    })
  })
})
