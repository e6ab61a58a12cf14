import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { start as startGate } from '../../../../services/registry-gate/start.ts'
import type { Service } from '../../../../services/shared/http/serve.ts'
import { createKubernetes } from '../../../../services/shared/kubernetes/client.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { makeCanary } from '../../../../services/worker/build-checks/canary-image.ts'
import type { CanaryDeps } from '../../../../services/worker/build-checks/canary-deps.ts'
import type { CrewCluster } from '../../../../services/worker/deployments/kubernetes/cluster-settings.ts'
import { CHECKS } from '../../../infra/support/kubernetes-schema.ts'
import type { Manifest } from '../../../infra/support/platform.ts'
import { restrictedViolations } from '../../../infra/support/pod-security.ts'
import { startImageRegistry } from '../../../support/image-registry.ts'
import { forbidden, startKubernetes } from '../../../support/kubernetes.ts'
import type { KubernetesStub, StoredObject } from '../../../support/kubernetes.ts'

const KEY = 'k'.repeat(64)
const REPOSITORY = 'org-3/crew-0'
const JOBS = '/apis/batch/v1/namespaces/crews/jobs/'
const PODS = '/api/v1/namespaces/crews/pods/'

let stub: KubernetesStub
let registry: Awaited<ReturnType<typeof startImageRegistry>>
let gate: Service
let deps: CanaryDeps
let parts: string[]

beforeEach(async () => {
  stub = await startKubernetes()
  registry = await startImageRegistry()
  const log = createLog({ name: 'test', level: 'silent' })
  const url = `http://${registry.address}`
  const env = { REGISTRY_URL: url, REGISTRY_KEY: KEY, PORT: '0', HOST: '127.0.0.1' }
  gate = await startGate(env, { log })
  parts = []
  const cluster: CrewCluster = {
    home: { namespace: 'platform', release: 'platform' },
    pythonImage: 'astral/uv:1-python3.13-bookworm-slim',
    pullPolicy: 'IfNotPresent',
    pullSecrets: [],
    hasArbitraryUser: false,
    isGuarded: true,
    reach: { hasPrivateRanges: false, ranges: ['10.1.0.0/16'], namespaces: ['tools'] },
    modelOrigins: [],
    openNamespaces: [],
    webUrl: 'http://platform-web.platform:80',
    maxima: { cpu: '2', memory: '4Gi' },
    proxy: {},
  }
  deps = {
    kubernetes: createKubernetes(stub.address),
    cluster,
    builder: {
      image: 'moby/buildkit:rootless',
      address: 'tcp://platform-buildkit.platform:1234',
      registry: new URL(gate.url).host,
      organizations: [],
      registryKey: KEY,
      certificates: async () => ({ ca: 'CA', cert: 'CERT', key: 'KEY' }),
      pullAddress: async () => 'localhost:30500',
      freeImages: async () => {},
    },
    place: { namespace: 'crews', isolated: false },
    organizationId: 3,
    patience: { stuckMs: 1000, pollMs: 10 },
    log: () => {},
    signal: new AbortController().signal,
  }
})

afterEach(async () => {
  await gate.stop()
  await Promise.all([registry.stop(), stub.stop()])
})

const canary = () => makeCanary(deps, (part) => void parts.push(part))

const applied = (kind: string): Manifest[] =>
  stub.calls.flatMap(({ method, body }) =>
    method === 'PATCH' && (body as Manifest).kind === kind ? [body as Manifest] : [],
  )

/** The pod of a Job, as soon as the Job is there. */
function ends(job: string, status: (object: StoredObject) => object): void {
  const before = stub.intercept
  stub.intercept = (call, response) => {
    const object = stub.objects.get(`${JOBS}${job}`)
    if (object && call.method === 'GET') {
      const { template } = object['spec'] as Manifest
      const metadata = { name: job, labels: template.metadata.labels }
      stub.objects.set(`${PODS}${job}-1`, { metadata, status: status(object) } as StoredObject)
    }
    return before(call, response)
  }
}

function builds(exitCode: number, message = ''): void {
  ends('crew-0-0-build', (job) => {
    job['status'] = { conditions: [{ type: 'Complete', status: 'True' }] }
    const text = message || registry.push(REPOSITORY, 'd0', 7000)
    return {
      containerStatuses: [
        { name: 'build', state: { terminated: { exitCode, message: `${text}\n` } } },
      ],
    }
  })
}

describe('a canary of builds', () => {
  it('builds an image, reads it, has a node run it, and leaves nothing', async () => {
    builds(0)
    ends('crew-0-0-pull', () => ({ phase: 'Succeeded' }))
    expect(await canary()).toBeUndefined()
    expect(parts).toEqual(['build and push', 'read', 'pull'])
    const jobs = applied('Job')
    expect(jobs.map(({ metadata }) => metadata.name)).toEqual(['crew-0-0-build', 'crew-0-0-pull'])
    for (const { spec } of jobs) expect(restrictedViolations('job', spec.template)).toEqual([])
    for (const check of Object.values(CHECKS))
      expect([...jobs, ...applied('Secret')].flatMap(check)).toEqual([])
    const [build, pull] = jobs.map(({ spec }) => spec.template.spec.containers[0])
    const dockerfile = build.env.find(({ name }: Manifest) => name === 'DOCKERFILE').value
    expect(dockerfile).toMatch(/^FROM astral\/uv\S+\nRUN echo [0-9a-f-]{36} >\/canary\n/)
    expect(build.command.at(-1)).not.toContain('tar -x')
    expect(pull.image).toMatch(/^localhost:30500\/org-3\/crew-0@sha256:/)
    const left = [...stub.objects.keys()].filter((path) => !path.startsWith(PODS))
    expect(left).toEqual([])
    expect(registry.tags()).toEqual([])
  })

  it.each([
    [75, 'build_web_unreachable'],
    [76, 'buildkit_unreachable'],
    [77, 'build_push_failed'],
    [1, 'build_failed'],
  ])('says what its build lacks that ends with %i', async (exitCode, code) => {
    builds(exitCode, 'none')
    expect(await canary()).toMatchObject({ code })
    expect(parts).toEqual([])
    expect([...stub.objects.keys()].filter((path) => !path.startsWith(PODS))).toEqual([])
  })

  it('says what the cluster refuses', async () => {
    stub.intercept = ({ method, path }, response) =>
      method === 'PATCH' && path.includes('/jobs/')
        ? forbidden(response, { verb: 'create', resource: 'jobs', namespace: 'crews' })
        : false
    expect(await canary()).toMatchObject({
      code: 'build_not_started',
      message: expect.stringContaining('jobs'),
    })
  })

  it('says that the registry lost what was pushed', async () => {
    builds(0, `sha256:${'ab'.repeat(32)}`)
    expect(await canary()).toMatchObject({ code: 'build_image_lost' })
  })

  it('waits out a node that may not read the credential yet', async () => {
    builds(0)
    const waiting = { reason: 'ErrImagePull', message: '401 Unauthorized' }
    let looks = 0
    ends('crew-0-0-pull', () => {
      looks += 1
      return looks < 4
        ? { phase: 'Pending', containerStatuses: [{ name: 'pull', state: { waiting } }] }
        : { phase: 'Succeeded' }
    })
    expect(await canary()).toBeUndefined()
  })

  it('says why no node pulls it, whatever pods of an earlier one are left', async () => {
    builds(0)
    const labels = { 'app.kubernetes.io/name': 'crew-from-source', 'platform/automation': '0' }
    const earlier = { metadata: { name: 'earlier', labels }, status: { phase: 'Succeeded' } }
    stub.objects.set(`${PODS}earlier`, earlier as unknown as StoredObject)
    const waiting = { reason: 'ImagePullBackOff', message: 'connection refused' }
    ends('crew-0-0-pull', () => ({ containerStatuses: [{ name: 'pull', state: { waiting } }] }))
    expect(await canary()).toMatchObject({
      code: 'build_pull_failed',
      message: expect.stringContaining('connection refused'),
    })
    expect(registry.tags()).toEqual([])
  })
})
