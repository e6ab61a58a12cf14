import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { start as startCrew } from '../../../services/crew/start.ts'
import { setFlag } from '../../../services/platform/feature-flags.ts'
import {
  ensureInternalCrew,
  findInternalOrganization,
} from '../../../services/platform/crews/internal-crews.ts'
import { crewToken } from '../../../services/shared/crew-token.ts'
import { connectDatabase } from '../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../services/shared/postgres/address.ts'
import type { Database } from '../../../services/shared/postgres/database.ts'
import { createKubernetes } from '../../../services/shared/kubernetes/client.ts'
import { createLog } from '../../../services/shared/log.ts'
import { crewObjects } from '../../../services/tasks/crews/crew-objects.ts'
import { installCrews } from '../../../services/tasks/crews/install-crew.ts'
import type { Part } from '../../../services/tasks/crews/install-crew.ts'
import type { ClusterCrewConfig } from '../../../services/tasks/env.ts'
import { runTask } from '../../../services/tasks/start.ts'
import { CHECKS } from '../../infra/support/kubernetes-schema.ts'
import type { Manifest } from '../../infra/support/platform.ts'
import { restrictedViolations } from '../../infra/support/pod-security.ts'
import { forbidden, refuse, rightsOf, startKubernetes } from '../../support/kubernetes.ts'
import type { KubernetesStub, RecordedCall, StoredObject } from '../../support/kubernetes.ts'
import { createDatabase } from '../../support/postgres.ts'
import { authorityPath } from '../../support/tls.ts'
import type { TestDatabase } from '../../support/postgres.ts'
import { startDuration } from '../../support/duration.ts'

const SECRET = 'a-secret-key-base-of-at-least-32-characters'
const automationPagePath = (namespace = 'crews', name = 'crew-assistant') =>
  `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`
const secretPath = (namespace = 'crews') => `/api/v1/namespaces/${namespace}/secrets/crew-assistant`
const policyPath = '/apis/networking.k8s.io/v1/namespaces/crews/networkpolicies/crew-network'
const servicePath = '/api/v1/namespaces/crews/services/crew-assistant'

let database: TestDatabase
let sql: Database
let cluster: KubernetesStub
let lines: Record<string, unknown>[]

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
})

beforeEach(async () => {
  cluster = await startKubernetes()
  lines = []
  cluster.intercept = (call, response) => pods(call, response, [])
})

afterEach(async () => {
  await cluster.stop()
  await sql`delete from executions`
  await sql`delete from deployments`
  await sql`delete from feature_flags`
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
const log = createLog({ name: 'tasks', destination })
const patience = { timeoutMs: 30_000, stuckMs: 60, pollMs: 10 }

const config = {
  LOG_LEVEL: 'info' as const,
  K8S_NAMESPACE: 'crews',
  SECRET_KEY_BASE: SECRET,
  CREW_IMAGE: 'registry.test/crew-platform/platform:1.13.0',
  CREW_IMAGE_PULL_SECRET: undefined,
  CREW_CA_FILE: undefined,
  OPENAI_BASE_URL: 'https://models.test/v1',
  OPENAI_API_KEY: 'sk-canary',
  LLM_PRIVATE_ORIGINS: ['http://litellm.models:4000', 'https://models.test'],
  TOOL_PRIVATE_ORIGINS: ['http://search.tools:8080'],
  CREW_TIMEOUT_SECONDS: 300,
} satisfies ClusterCrewConfig

const install = (part: Part = 'agent', over: Partial<typeof patience> = {}) =>
  installWith({}, part, over)

const installWith = (
  settings: Partial<ClusterCrewConfig>,
  part: Part = 'agent',
  over: Partial<typeof patience> = {},
) =>
  installCrews(sql, part, {
    log,
    host: {
      kubernetes: createKubernetes(cluster.address),
      config: { ...config, ...settings },
      patience: { ...patience, ...over },
    },
  })

const record = async (slug = 'assistant') =>
  (await findInternalOrganization(sql))?.deployments.find((each) => each.slug === slug)
const reason = async () => {
  const [row] = await sql`select status_reason from deployments where slug = 'assistant'`
  return String(row?.['statusReason'])
}

/** Returns a list of pods as the API server does. */
function pods(call: RecordedCall, response: ServerResponse, items: readonly unknown[]): boolean {
  if (!call.path.includes('/pods?')) return false
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items }))
  return true
}

/** A pod with one container that waits for a reason. */
const waitingPod = (waiting: object, lastState: object = {}) => ({
  metadata: { name: 'crew-assistant-6d5f7c9b8-x2x7q' },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'True' }],
    containerStatuses: [{ name: 'crew', ready: false, state: { waiting }, lastState }],
  },
})

/** What the Deployment controller does when the pods of this generation are ready. */
function bringUp(path = automationPagePath()): void {
  const object = cluster.objects.get(path)
  if (!object) return
  const observedGeneration = object.metadata['generation']
  const status = { observedGeneration, replicas: 1, readyReplicas: 1, updatedReplicas: 1 }
  cluster.objects.set(path, { ...object, status })
}

/** Lets the controller work as soon as somebody looks for the `count`th time. */
function readyAtLook(count: number, path = automationPagePath()): void {
  let looks = 0
  cluster.intercept = (call, response) => {
    if (call.method === 'GET' && call.path === path && ++looks >= count) bringUp(path)
    return pods(call, response, [])
  }
}

const writes = () => cluster.calls.filter(({ method }) => method !== 'GET')
const pathsOf = (calls: readonly RecordedCall[]) => calls.map(({ path }) => path.split('?')[0])
const spec = (path: string) => cluster.objects.get(path)?.['spec'] as Record<string, never>

describe('designer:agent:install and designer:runner:install in a cluster (SPEC 2.3, 7)', () => {
  it('apply Secret, Service and Deployment, and follow the crew to "Crew is Online"', async () => {
    readyAtLook(3)
    await install()
    expect(pathsOf(writes())).toEqual([secretPath(), servicePath, automationPagePath()])
    for (const { contentType, path } of writes()) {
      expect(contentType).toBe('application/apply-patch+yaml')
      expect(path).toMatch(/\?fieldManager=crew-platform&force=true&fieldValidation=Strict$/)
    }
    expect(await record()).toMatchObject({ appId: 'crew-assistant', status: 'Crew is Online' })
    const [row] = await sql`select url from deployments where slug = 'assistant'`
    expect(row).toEqual({ url: 'http://crew-assistant.crews.svc:8000' })
    expect(lines.map(({ msg }) => msg)).toEqual([
      'its Secret, Service and Deployment are applied',
      'Crew is Provisioning',
      'Crew is Online',
    ])
  })

  it('install the Runner like the Assistant, as the health report expects', async () => {
    readyAtLook(1)
    await install('agent')
    readyAtLook(1, automationPagePath('crews', 'crew-runner'))
    await install('runner')
    const organization = await findInternalOrganization(sql)
    expect(organization?.deployments).toMatchObject([
      { slug: 'assistant', appId: 'crew-assistant', status: 'Crew is Online' },
      { slug: 'runner', appId: 'crew-runner', status: 'Crew is Online' },
    ])
  })

  it('change nothing when run again, and keep the automation id', async () => {
    readyAtLook(1)
    await install()
    const before = cluster.objects.get(automationPagePath())
    const id = (await record())?.id
    await install()
    const after = cluster.objects.get(automationPagePath())
    expect(after?.['spec']).toEqual(before?.['spec'])
    expect(after?.metadata['generation']).toBe(1)
    expect((await record())?.id).toBe(id)
    const versions = await sql`
      select v.number from project_versions v join projects p on p.id = v.project_id
      where p.name = 'Assistant'`
    expect([...versions]).toEqual([{ number: 1 }])
  })

  it('leave a crew that somebody scaled as large as it is', async () => {
    readyAtLook(1)
    await install()
    expect(spec(automationPagePath())).not.toHaveProperty('replicas')
  })

  it('make a namespace for the organization if k8s_namespace_isolation is on', async () => {
    const { organizationId } = await ensureInternalCrew(sql, 'assistant')
    await setFlag(sql, { name: 'k8s_namespace_isolation', organizationId: null, enabled: true })
    const namespace = `crews-org-${organizationId}`
    const place = `/api/v1/namespaces/${namespace}`
    readyAtLook(1, automationPagePath(namespace))
    const ready = cluster.intercept
    cluster.intercept = (call, response) => {
      const isThere = cluster.objects.has(place)
      if (isThere || !call.path.startsWith(`${place}/secrets`)) return ready(call, response)
      const message = `namespaces "${namespace}" not found`
      return refuse(response, { code: 404, reason: 'NotFound', message })
    }
    await install()
    expect(pathsOf(writes()).slice(0, 3)).toEqual([
      secretPath(namespace),
      place,
      secretPath(namespace),
    ])
    expect(cluster.objects.get(place)?.metadata['labels']).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
    })
    const [row] = await sql`select url from deployments where slug = 'assistant'`
    expect(row).toEqual({ url: `http://crew-assistant.${namespace}.svc:8000` })
  })

  it('switch the flag to what the chart says, which grants the rights for it', async () => {
    const { organizationId } = await ensureInternalCrew(sql, 'assistant')
    const namespace = `crews-org-${organizationId}`
    readyAtLook(1, automationPagePath(namespace))
    await installWith({ CREW_NAMESPACE_ISOLATION: true })
    expect(cluster.objects.has(automationPagePath(namespace))).toBe(true)
    readyAtLook(1)
    await installWith({ CREW_NAMESPACE_ISOLATION: false })
    expect(cluster.objects.has(automationPagePath())).toBe(true)
  })

  it('remove a crew from its former namespace once it is online in the other one', async () => {
    readyAtLook(1)
    await install()
    readyAtLook(1, automationPagePath('elsewhere'))
    await installWith({ K8S_NAMESPACE: 'elsewhere' })
    expect(pathsOf(writes()).slice(-3)).toEqual([automationPagePath(), servicePath, secretPath()])
    expect(cluster.objects.has(automationPagePath())).toBe(false)
    expect(lines.at(-1)).toMatchObject({ namespace: 'crews', level: 'info' })
  })

  it('tell who may do that, and how, where the rights for it are missing', async () => {
    readyAtLook(1)
    await install()
    readyAtLook(1, automationPagePath('elsewhere'))
    const ready = cluster.intercept
    cluster.intercept = (call, response) =>
      call.method === 'DELETE'
        ? forbidden(response, { verb: 'delete', resource: 'deployments', namespace: 'crews' })
        : ready(call, response)
    await installWith({ K8S_NAMESPACE: 'elsewhere' })
    expect(await record()).toMatchObject({ status: 'Crew is Online' })
    expect(lines.at(-1)?.['msg']).toContain(
      'kubectl -n crews delete deployment,service,secret crew-assistant',
    )
  })

  it('admit only the workers and web of this release, and block cloud identities', async () => {
    readyAtLook(1)
    await installWith({ CREW_NETWORK_POLICY: true, POD_NAMESPACE: 'prod', RELEASE_NAME: 'demo' })
    const policy = cluster.objects.get(policyPath)
    for (const check of Object.values(CHECKS)) expect(check(policy)).toEqual([])
    expect(policy?.metadata['labels']).toMatchObject({ 'platform/home': 'prod' })
    const { podSelector, ingress, egress } = (policy as Manifest).spec
    const { template } = spec(automationPagePath())
    expect((template as Manifest).metadata.labels).toMatchObject(podSelector.matchLabels)
    expect(
      ingress[0].from.map(({ podSelector: pods, namespaceSelector }: Manifest) => [
        namespaceSelector.matchLabels['kubernetes.io/metadata.name'],
        pods.matchLabels['app.kubernetes.io/component'],
      ]),
    ).toEqual([
      ['prod', 'worker'],
      ['prod', 'web'],
    ])
    const blocks = egress[2].to.flatMap(({ ipBlock }: Manifest) => ipBlock?.except ?? [])
    expect(blocks).toContain('169.254.0.0/16')
  })

  it('reach public addresses and two namespaces only, where the operator wants that', async () => {
    readyAtLook(1)
    await installWith({
      CREW_NETWORK_POLICY: true,
      POD_NAMESPACE: 'prod',
      RELEASE_NAME: 'demo',
      CREW_MODEL_NAMESPACE: 'models',
      CREW_TOOL_NAMESPACE: 'tools',
      CREW_PRIVATE_RANGES: false,
    })
    const { to } = (cluster.objects.get(policyPath) as Manifest).spec.egress[2]
    expect(to.slice(2)).toEqual(
      ['models', 'tools'].map((name) => ({
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
      })),
    )
    expect(to[0].ipBlock.except).toEqual(expect.arrayContaining(['10.0.0.0/8', '192.168.0.0/16']))
    expect(to[1].ipBlock.except).toEqual(expect.arrayContaining(['fc00::/7', 'fe80::/10']))
    const env = (spec(automationPagePath())['template'] as Manifest).spec.containers[0].env
    expect(env).toContainEqual({ name: 'TOOL_PRIVATE_ORIGINS', value: 'http://search.tools:8080' })
  })

  it('run as user 1000, or as whom the cluster assigns where that is said', async () => {
    const identity = { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 }
    const restricted = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
    const securityContext = () =>
      (spec(automationPagePath())['template'] as Manifest).spec.securityContext
    readyAtLook(1)
    await install()
    expect(securityContext()).toEqual({ ...identity, ...restricted })
    await installWith({ CREW_ARBITRARY_USER: true })
    expect(securityContext()).toEqual(restricted)
  })

  it('remove the policy again when none is wanted', async () => {
    readyAtLook(1)
    cluster.objects.set(policyPath, { metadata: { resourceVersion: '1' } })
    await installWith({ CREW_NETWORK_POLICY: false })
    expect(cluster.objects.has(policyPath)).toBe(false)
    await installWith({ CREW_NETWORK_POLICY: false })
  })

  it('bring the pull secret along, whose file the chart mounts', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'pull-')), '.dockerconfigjson')
    await writeFile(file, '{"auths":{}}')
    readyAtLook(1)
    await installWith({ CREW_IMAGE_PULL_FILE: file, CREW_IMAGE_PULL_SECRET: 'pull' })
    const secret = cluster.objects.get('/api/v1/namespaces/crews/secrets/crew-image-pull')
    expect(secret).toMatchObject({
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from('{"auths":{}}').toString('base64') },
    })
    const crew = JSON.stringify(cluster.objects.get(automationPagePath()))
    expect(crew).toContain('"imagePullSecrets":[{"name":"crew-image-pull"}]')
  })

  it('name a pull secret that is there already, when no file is mounted', async () => {
    readyAtLook(1)
    await installWith({ CREW_IMAGE_PULL_FILE: '/nowhere', CREW_IMAGE_PULL_SECRET: 'pull' })
    const crew = JSON.stringify(cluster.objects.get(automationPagePath()))
    expect(crew).toContain('"imagePullSecrets":[{"name":"pull"}]')
  })

  it('take exactly these rights in the namespace of the crews', async () => {
    readyAtLook(2)
    await install()
    const taken = new Set(cluster.calls.flatMap(rightsOf))
    expect([...taken].toSorted()).toEqual([
      'create /secrets',
      'create /services',
      'create apps/deployments',
      'get apps/deployments',
      'list /pods',
      'patch /secrets',
      'patch /services',
      'patch apps/deployments',
    ])
  })

  it('never write a token or a key anywhere but into the Secret', async () => {
    readyAtLook(1)
    await install()
    const { data } = cluster.objects.get(secretPath()) as StoredObject & { data: object }
    expect(Object.keys(data)).toEqual(['CREW_TOKEN', 'OPENAI_API_KEY'])
    const token = crewToken(SECRET, (await ensureInternalCrew(sql, 'assistant')).automationId)
    const elsewhere = JSON.stringify([
      lines,
      cluster.objects.get(automationPagePath()),
      cluster.objects.get(servicePath),
      cluster.calls.map(({ path }) => path),
    ])
    for (const secret of [token, 'sk-canary', SECRET]) expect(elsewhere).not.toContain(secret)
  })
})

describe('the objects of a crew', () => {
  const objects = crewObjects({
    appId: 'crew-assistant',
    namespace: 'crews',
    image: 'x:1',
    imagePullSecret: 'pull',
    env: { CREW_DEFINITION: 'costs $(CREW_TOKEN)' },
    secretEnv: { CREW_TOKEN: 't'.repeat(64) },
    caBundle: 'of the company',
  })

  it('are valid for Kubernetes, and their pods pass Pod Security "restricted"', () => {
    for (const check of Object.values(CHECKS)) {
      for (const object of Object.values(objects)) expect(check(object)).toEqual([])
    }
    const { template } = objects.deployment['spec'] as { template: object }
    expect(restrictedViolations('crew', template)).toEqual([])
    expect(JSON.stringify(template)).toContain('"automountServiceAccountToken":false')
  })

  it('hold variables as they are: Kubernetes replaces nothing in them', () => {
    expect(JSON.stringify(objects.deployment)).toContain('costs $$(CREW_TOKEN)')
  })

  it('restart the pods when the Secret changes', () => {
    const other = crewObjects({
      appId: 'crew-assistant',
      namespace: 'crews',
      image: 'x:1',
      env: {},
      secretEnv: { CREW_TOKEN: 'u'.repeat(64) },
    })
    const hash = (object: object) => /secrets-hash":"(\w{12})"/.exec(JSON.stringify(object))?.[1]
    expect(hash(other.deployment)).not.toBe(hash(objects.deployment))
  })

  it('trust the certificate authorities of the operator', async () => {
    readyAtLook(1)
    await installWith({ CREW_CA_FILE: authorityPath })
    const { data } = cluster.objects.get(secretPath()) as StoredObject & {
      data: Record<string, string>
    }
    const authority = Buffer.from(data['ca.crt'] ?? '', 'base64').toString()
    expect(authority).toBe(await readFile(authorityPath, 'utf8'))
    const crew = JSON.stringify(cluster.objects.get(automationPagePath()))
    expect(crew).toContain('{"name":"NODE_EXTRA_CA_CERTS","value":"/etc/platform/ca/ca.crt"}')
    expect(crew).toContain('"items":[{"key":"ca.crt","path":"ca.crt"}]')
    expect(crew).not.toContain('"envFrom"')
  })

  it('are not made without the authorities that they shall trust', async () => {
    await expect(installWith({ CREW_CA_FILE: '/nowhere/ca.crt' })).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining('CREW_CA_FILE: there is no file /nowhere/ca.crt'),
    })
    expect(writes()).toEqual([])
  })

  it('start the crew runtime, which takes the token that the workers derive', async () => {
    readyAtLook(1)
    await install()
    const { data } = cluster.objects.get(secretPath()) as StoredObject & {
      data: Record<string, string>
    }
    const [container] = (
      cluster.objects.get(automationPagePath()) as unknown as {
        spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } }
      }
    ).spec.template.spec.containers
    const env = Object.fromEntries([
      ...(container?.env ?? []).map(({ name, value }) => [name, value?.replaceAll('$$(', '$(')]),
      ...Object.entries(data).map(([name, value]) => [
        name,
        Buffer.from(value, 'base64').toString(),
      ]),
    ]) as Record<string, string>
    expect(env['PORT']).toBe('8000')
    const crew = await startCrew({ ...env, PORT: '0', HOST: '127.0.0.1' }, { log })
    expect(await (await fetch(`${crew.url}/inputs`)).json()).toEqual({
      inputs: ['request', 'models', 'current', 'correction'],
    })
    const { automationId } = await ensureInternalCrew(sql, 'assistant')
    const kickoff = (token: string) =>
      fetch(`${crew.url}/kickoff`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      })
    expect((await kickoff(crewToken(SECRET, automationId))).status).toBe(422)
    expect((await kickoff('wrong')).status).toBe(401)
    await crew.stop()
  })
})

describe('a crew that does not come up', () => {
  const failsWith = async (told: string, over: Partial<typeof patience> = {}) => {
    await expect(install('agent', over)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(told),
    })
    expect(await record()).toMatchObject({ status: 'Crew has Failed' })
    expect(await reason()).toContain(told)
  }

  const image = 'Back-off pulling image "registry.test/crew-platform/platform:1.13.0"'
  const stuck: [string, object, string][] = [
    [
      'an image that is not there',
      waitingPod({ reason: 'ImagePullBackOff', message: image }),
      `ImagePullBackOff: ${image}`,
    ],
    [
      'a program that crashes',
      waitingPod(
        { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=crew' },
        { terminated: { exitCode: 137, reason: 'OOMKilled' } },
      ),
      'container=crew (its last run ended with 137, OOMKilled)',
    ],
    [
      'a Secret that is gone',
      waitingPod({
        reason: 'CreateContainerConfigError',
        message: 'secret "crew-assistant" not found',
      }),
      'CreateContainerConfigError: secret "crew-assistant" not found',
    ],
    [
      'a cluster that is full',
      {
        status: {
          phase: 'Pending',
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              reason: 'Unschedulable',
              message: '0/3 nodes are available: 3 Insufficient memory.',
            },
          ],
        },
      },
      'Unschedulable: 0/3 nodes are available: 3 Insufficient memory.',
    ],
  ]
  it.each(stuck)('has the reason in its record: %s', async (_, pod, told) => {
    cluster.intercept = (call, response) => pods(call, response, [pod])
    await failsWith(told)
  })

  it('has the reason in its record: no pod may be made at all', async () => {
    const message = 'pods "crew-assistant-6d5f7c9b8-" is forbidden: exceeded quota: compute'
    cluster.intercept = (call, response) => {
      const object = cluster.objects.get(automationPagePath())
      if (object) {
        const conditions = [
          { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message },
        ]
        cluster.objects.set(automationPagePath(), { ...object, status: { conditions } })
      }
      return pods(call, response, [])
    }
    await failsWith(`FailedCreate: ${message}`)
  })

  const SCALE_UP = 'kubectl -n crews scale deployment crew-assistant --replicas=1'

  /** Somebody has scaled the crew to zero, and leaves it there. */
  function scaledToZero(): void {
    const path = automationPagePath()
    cluster.intercept = (call, response) => {
      const object = cluster.objects.get(path)
      if (object && call.method === 'GET') {
        cluster.objects.set(path, { ...object, spec: { ...spec(path), replicas: 0 } })
      }
      return pods(call, response, [])
    }
  }

  it('has the reason in its record at once: somebody scaled it to zero', async () => {
    scaledToZero()
    await failsWith('ScaledToZero: its Deployment has 0 replicas', { stuckMs: 30_000 })
    await expect(install('agent', { stuckMs: 30_000 })).rejects.toThrow(SCALE_UP)
  })

  it('keeps its record and holds nothing up when somebody scaled it down since', async () => {
    readyAtLook(1)
    await install()
    scaledToZero()
    await install('agent', { stuckMs: 30_000 })
    expect(await record()).toMatchObject({ status: 'Crew is Online' })
    expect(lines.at(-1)?.['msg']).toContain(SCALE_UP)
  })

  it('is waited for no longer than said, when it tells of nothing', async () => {
    const waiting = startDuration('waiting for the pod')
    await failsWith('its pod is not ready yet (after ', { timeoutMs: 200 })
    waiting.expectBelow(patience.timeoutMs)
  })

  it('is not given up for trouble that passes', async () => {
    let looks = 0
    cluster.intercept = (call, response) => {
      if (call.path.includes('/pods?')) looks += 1
      if (looks > 4) bringUp()
      const pod = waitingPod({ reason: 'ErrImagePull', message: 'registry is unavailable' })
      return pods(call, response, looks < 4 ? [pod] : [])
    }
    await install('agent', { stuckMs: 5000 })
    expect(lines.filter(({ msg }) => msg === 'Crew is Provisioning')).toMatchObject([
      { reason: 'ErrImagePull: registry is unavailable' },
      { reason: 'its pod is not ready yet' },
    ])
    expect(await record()).toMatchObject({ status: 'Crew is Online' })
  })

  it('keeps its record while the pods of the version before still answer', async () => {
    readyAtLook(1)
    await install()
    const object = cluster.objects.get(automationPagePath())
    cluster.objects.set(automationPagePath(), {
      metadata: { ...object?.metadata, generation: 7 },
      spec: {},
      status: { observedGeneration: 8, replicas: 2, readyReplicas: 1, updatedReplicas: 1 },
    })
    cluster.intercept = (call, response) =>
      pods(call, response, [waitingPod({ reason: 'ImagePullBackOff', message: 'no' })])
    await expect(install()).rejects.toThrow('The pods of the version before still answer.')
    expect(await record()).toMatchObject({ status: 'Crew is Online' })
  })

  it('tells hostile words harmlessly and cut to a bound', async () => {
    const message = `\u001b[31m<b>\n${'x'.repeat(5000)}`
    cluster.intercept = (call, response) =>
      pods(call, response, [waitingPod({ reason: 'CrashLoopBackOff', message })])
    await expect(install()).rejects.toThrow('CrashLoopBackOff')
    expect((await reason()).length).toBeLessThan(400)
    expect(await reason()).not.toContain('\u001b')
  })

  it('is online when it is run again after it was fixed', async () => {
    cluster.intercept = (call, response) =>
      pods(call, response, [waitingPod({ reason: 'ImagePullBackOff', message: 'no' })])
    await expect(install()).rejects.toThrow('ImagePullBackOff')
    readyAtLook(1)
    await install()
    expect(await record()).toMatchObject({ status: 'Crew is Online' })
    expect(await reason()).toBe('null')
  })
})

describe('an API server that refuses or fails', () => {
  it.each([
    ['secrets', 'patch'],
    ['services', 'patch'],
    ['deployments', 'patch'],
    ['deployments', 'get'],
    ['pods', 'list'],
  ])('names the right that is missing, and where: %s %s', async (resource, verb) => {
    const method = verb === 'patch' ? 'PATCH' : 'GET'
    cluster.intercept = (call, response) => {
      const isIt = call.method === method && call.path.includes(`/${resource}`)
      if (isIt) return forbidden(response, { verb, resource, namespace: 'crews' })
      return pods(call, response, [])
    }
    await expect(install()).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(
        new RegExp(`cannot ${verb} resource "${resource}" .* in the namespace "crews"`),
      ),
    })
    expect(await record()).toMatchObject({ status: 'Crew has Failed' })
    expect(await reason()).toContain(`cannot ${verb} resource`)
  })

  it('is called again after a conflict, an overload and a silence', async () => {
    const failures = [
      { code: 409, reason: 'Conflict', message: 'Operation cannot be fulfilled' },
      { code: 429, reason: 'TooManyRequests', message: 'too many requests' },
    ]
    readyAtLook(1)
    const ready = cluster.intercept
    let isCut = false
    cluster.intercept = (call, response) => {
      const failure = call.method === 'PATCH' ? failures.shift() : undefined
      if (failure) return refuse(response, failure)
      if (call.method === 'GET' && !isCut) {
        isCut = true
        response.destroy()
        return true
      }
      return ready(call, response)
    }
    await install()
    expect(await record()).toMatchObject({ status: 'Crew is Online' })
  })

  it('says which namespace is missing, and what object it does not take', async () => {
    const answers = [
      { code: 404, reason: 'NotFound', message: 'namespaces "crews" not found' },
      {
        code: 422,
        reason: 'Invalid',
        message: 'Deployment.apps "x" is invalid: spec.selector: field is immutable',
      },
    ]
    for (const answer of answers) {
      cluster.intercept = (_, response) => refuse(response, answer)
      await expect(install()).rejects.toThrow(answer.message)
      expect(await reason()).toContain(answer.message)
    }
  })

  it('does not change the record of a crew that is online', async () => {
    readyAtLook(1)
    await install()
    cluster.intercept = (_, response) =>
      forbidden(response, { verb: 'patch', resource: 'secrets', namespace: 'crews' })
    await expect(install()).rejects.toMatchObject({ code: 'forbidden' })
    expect(await record()).toMatchObject({ status: 'Crew is Online' })
  })
})

describe('outside of a cluster', () => {
  const source = () => ({ DATABASE_URL: database.url, LOG_LEVEL: 'silent' })

  it('the tasks start nothing and record where the crew runs', async () => {
    await runTask(['designer:agent:install', 'http://127.0.0.1:4310'], source())
    await runTask(['designer:runner:install'], { ...source(), CREW_URL: 'http://127.0.0.1:4311/' })
    const rows = await sql`select slug, status, url from deployments order by slug`
    expect([...rows]).toEqual([
      { slug: 'assistant', status: 'Crew is Online', url: 'http://127.0.0.1:4310' },
      { slug: 'runner', status: 'Crew is Online', url: 'http://127.0.0.1:4311' },
    ])
    expect(cluster.calls).toEqual([])
  })

  it('the tasks say what they need', async () => {
    const task = ['designer:agent:install']
    await expect(runTask(task, source())).rejects.toThrow(
      'Give the address of the crew that you run',
    )
    await expect(runTask([...task, 'crew'], source())).rejects.toThrow(
      'CREW_URL must be an absolute http:// or https:// URL (given: "crew")',
    )
    const inCluster = { ...source(), KUBERNETES_SERVICE_HOST: '127.0.0.1', K8S_NAMESPACE: '' }
    await expect(runTask(task, inCluster)).rejects.toMatchObject({
      details: { variables: ['K8S_NAMESPACE', 'SECRET_KEY_BASE', 'CREW_IMAGE'] },
    })
  })
})
