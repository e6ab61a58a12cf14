import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createKubernetes } from '../../../services/shared/kubernetes/client.ts'
import { createLog } from '../../../services/shared/log.ts'
import { bootstrapSecrets } from '../../../services/tasks/bootstrap-secrets.ts'
import { followSecret } from '../../../services/tasks/secret-readers.ts'
import type { BootstrapConfig } from '../../../services/tasks/env.ts'
import { forbidden, startKubernetes } from '../../support/kubernetes.ts'
import type { KubernetesStub } from '../../support/kubernetes.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const APPS = '/apis/apps/v1/namespaces/default'
const WEB = '/deployments/demo-web'
const WORKER = '/deployments/demo-worker'
const POSTGRES = '/statefulsets/demo-postgres'

const config: BootstrapConfig = {
  LOG_LEVEL: 'info',
  POD_NAMESPACE: 'default',
  PLATFORM_SECRET: 'demo-secrets',
  PLATFORM_SECRET_OVERRIDES: undefined,
  PLATFORM_SECRET_KEPT: 'demo-keys',
  PLATFORM_SECRET_KEYS: ['PLATFORM_DEBUG_TOKEN', 'COLLECTOR_JWT_SECRET'],
  RESTART_DEPLOYMENTS: ['demo-web', 'demo-gone'],
  RESTART_POSTGRES: 'demo-postgres',
  DB_PORT: 5432,
  DB_PASSWORD: '',
  DB_SSLMODE: 'disable',
}

/** The keys of the Secret that the pods of a workload read. */
const reads = (keys: readonly string[], secret = 'demo-secrets') => ({
  containers: [
    {
      name: 'main',
      env: [
        { name: 'LOG_LEVEL', value: 'info' },
        ...keys.map((key) => ({ name: key, valueFrom: { secretKeyRef: { name: secret, key } } })),
      ],
    },
  ],
})

const place = (path: string, podSpec: object, rest: object = {}): void =>
  void cluster.objects.set(`${APPS}${path}`, {
    metadata: { resourceVersion: '1', generation: 1 },
    spec: { template: { spec: podSpec } },
    status: { observedGeneration: 1 },
    ...rest,
  })

let cluster: KubernetesStub
let lines: string[]

beforeEach(async () => {
  cluster = await startKubernetes()
  lines = []
  cluster.objects.set(`${SECRETS}/demo-secrets`, { metadata: { resourceVersion: '1' } })
  place(WEB, reads(['PLATFORM_DEBUG_TOKEN', 'COLLECTOR_JWT_SECRET', 'DB_PASSWORD']))
  place(POSTGRES, reads(['DB_PASSWORD']))
})

afterEach(() => cluster.stop())

const run = (overrides: Partial<BootstrapConfig> = {}): Promise<void> =>
  perform(bootstrapSecrets, overrides)

function perform(
  task: typeof bootstrapSecrets | typeof followSecret,
  overrides: Partial<BootstrapConfig>,
): Promise<void> {
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLog({ name: 'test', destination })
  return task(createKubernetes(cluster.address), { ...config, ...overrides }, log)
}

function values(name = 'demo-secrets'): Record<string, string> {
  const data = cluster.objects.get(`${SECRETS}/${name}`)?.['data'] ?? {}
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [
      key,
      Buffer.from(String(value), 'base64').toString(),
    ]),
  )
}

function put(name: string, data: Record<string, string>): void {
  const encoded = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ])
  cluster.objects.set(`${SECRETS}/${name}`, {
    metadata: { resourceVersion: '7' },
    data: Object.fromEntries(encoded),
  })
}

/** The workloads whose pod templates have changed. */
const restarts = (): readonly string[] =>
  cluster.calls
    .filter(({ path, method }) => method === 'PATCH' && path.startsWith(APPS))
    .filter(({ body }) => typeof body === 'object' && body !== null && 'spec' in body)
    .map(({ path }) => path.slice(APPS.length))

const edit = (name: string, data: Record<string, string>): void =>
  put(name, { ...values(name), ...data })

describe('secrets:bootstrap (SPEC 5.1)', () => {
  it('gives each missing key 64 random characters first, and restarts nothing', async () => {
    await run()
    const { PLATFORM_DEBUG_TOKEN: token, COLLECTOR_JWT_SECRET: secret } = values()
    expect(token).toMatch(/^[A-Za-z0-9]{64}$/)
    expect(secret).toMatch(/^[A-Za-z0-9]{64}$/)
    expect(token).not.toBe(secret)
    expect(restarts()).toEqual([])
  })

  it('keeps what is there across upgrades and writes nothing', async () => {
    put('demo-secrets', { PLATFORM_DEBUG_TOKEN: 'kept', COLLECTOR_JWT_SECRET: 'kept too' })
    await run()
    expect(values()).toEqual({ PLATFORM_DEBUG_TOKEN: 'kept', COLLECTOR_JWT_SECRET: 'kept too' })
    cluster.calls.length = 0
    await run()
    expect(new Set(cluster.calls.map(({ method }) => method))).toEqual(new Set(['GET']))
  })

  it('makes a deleted key anew and restarts the Deployments that exist', async () => {
    put('demo-secrets', { COLLECTOR_JWT_SECRET: 'kept' })
    await run()
    expect(values()).toMatchObject({ COLLECTOR_JWT_SECRET: 'kept' })
    expect(values()['PLATFORM_DEBUG_TOKEN']).toHaveLength(64)
    expect(restarts()).toEqual([WEB])
    expect(cluster.objects.get(`${APPS}${WEB}`)?.['spec']).toMatchObject({
      template: {
        metadata: {
          annotations: { 'platform/secrets-hash': expect.stringMatching(/^[\w,]+:\w{12}$/) },
        },
      },
    })
  })

  it("takes over the operator's own values, and keeps them when the override goes", async () => {
    put('demo-secrets', { PLATFORM_DEBUG_TOKEN: 'old', COLLECTOR_JWT_SECRET: 'kept' })
    put('demo-overrides', { PLATFORM_DEBUG_TOKEN: 'mine' })
    await run({ PLATFORM_SECRET_OVERRIDES: 'demo-overrides' })
    expect(values()).toEqual({ PLATFORM_DEBUG_TOKEN: 'mine', COLLECTOR_JWT_SECRET: 'kept' })
    expect(restarts()).toEqual([])
    await run()
    expect(values()).toMatchObject({ PLATFORM_DEBUG_TOKEN: 'mine' })
  })

  it('backs up all keys, and restores them in an empty Secret without a restart', async () => {
    const keys = ['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY', 'DB_PASSWORD', 'PLATFORM_DEBUG_TOKEN']
    await run({ PLATFORM_SECRET_KEYS: keys })
    const before = values()
    expect(values('demo-keys')).toEqual(before)

    cluster.objects.set(`${SECRETS}/demo-secrets`, { metadata: { resourceVersion: '9' } })
    await run({ PLATFORM_SECRET_KEYS: keys })
    expect(values()).toEqual(before)
    expect(lines.filter((line) => line.includes('key restored'))).toHaveLength(4)
    // The pods that run have the same keys.
    expect(restarts()).toEqual([])
  })

  it('restarts what reads an emptied Secret of which a key was not kept', async () => {
    await run()
    put('demo-keys', { COLLECTOR_JWT_SECRET: values()['COLLECTOR_JWT_SECRET'] ?? '' })
    cluster.objects.set(`${SECRETS}/demo-secrets`, { metadata: { resourceVersion: '9' } })
    await run()
    expect(restarts()).toEqual([WEB])
  })

  it('keeps a key that this install has no use for any more', async () => {
    put('demo-keys', { OAUTH_ENCRYPTION_KEY: 'kept' })
    put('demo-secrets', { SECRET_KEY_BASE: 'in use' })
    await run({ PLATFORM_SECRET_KEYS: ['SECRET_KEY_BASE'] })
    expect(values('demo-keys')).toEqual({
      OAUTH_ENCRYPTION_KEY: 'kept',
      SECRET_KEY_BASE: 'in use',
    })
  })

  it('keeps the key that an operator sets instead', async () => {
    put('demo-secrets', { SECRET_KEY_BASE: 'generated' })
    put('demo-overrides', { SECRET_KEY_BASE: 'mine' })
    await run({ PLATFORM_SECRET_KEYS: [], PLATFORM_SECRET_OVERRIDES: 'demo-overrides' })
    expect(values('demo-keys')).toEqual({ SECRET_KEY_BASE: 'mine' })
  })

  it('restarts the readers of the Secret once when somebody has edited it', async () => {
    await run({ PLATFORM_SECRET_KEYS: [...config.PLATFORM_SECRET_KEYS, 'DB_PASSWORD'] })
    edit('demo-secrets', { PLATFORM_DEBUG_TOKEN: 'by hand' })
    await run()
    await run()
    expect(restarts()).toEqual([WEB])
    edit('demo-secrets', { DB_PASSWORD: 'another one' })
    await run()
    await run()
    // PostgreSQL before those that sign in with its password.
    expect(restarts()).toEqual([WEB, POSTGRES, WEB])
  })

  it('restarts nothing for a value of the operator, whose pods restart by themselves', async () => {
    await run()
    put('demo-overrides', { PLATFORM_DEBUG_TOKEN: 'mine' })
    await run({ PLATFORM_SECRET_OVERRIDES: 'demo-overrides' })
    await run()
    expect(restarts()).toEqual([])
  })

  it('restarts in the next attempt when one ended between the Secret and its readers', async () => {
    await run()
    put('demo-secrets', { COLLECTOR_JWT_SECRET: 'kept' })
    cluster.intercept = ({ method, path }, response) =>
      method === 'PATCH' && path.startsWith(APPS)
        ? forbidden(response, { verb: 'patch', resource: 'deployments' })
        : false
    await expect(run()).rejects.toThrow('Not allowed to restart the Deployment demo-web')
    cluster.intercept = () => false
    cluster.calls.length = 0
    await run()
    expect(restarts()).toEqual([WEB])
  })

  describe('an upgrade with a key that is new', () => {
    const NEW = ['PLATFORM_DEBUG_TOKEN', 'REGISTRY_KEY']
    const upgrade = (): Promise<void> =>
      run({ PLATFORM_SECRET_KEYS: NEW, RESTART_DEPLOYMENTS: ['demo-web', 'demo-worker'] })
    /** Pods of the version before serve, or do not, while one of the newest waits for its keys. */
    const rollingOut = (readyReplicas: number) => ({
      status: {
        observedGeneration: 1,
        replicas: 2,
        updatedReplicas: 1,
        readyReplicas,
        conditions: [{ type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated' }],
      },
    })

    beforeEach(() => put('demo-secrets', { PLATFORM_DEBUG_TOKEN: 'kept' }))

    it('restarts nothing that does not read it', async () => {
      await upgrade()
      expect(values()['REGISTRY_KEY']).toHaveLength(64)
      expect(restarts()).toEqual([])
    })

    it.each([0, 1])(
      'leaves a rollout to itself whose pods wait for it (%i serve)',
      async (ready) => {
        place(WEB, reads(NEW), rollingOut(ready))
        place(WORKER, reads(NEW), { metadata: { resourceVersion: '1', generation: 2 } })
        await upgrade()
        await upgrade()
        expect(restarts()).toEqual([])
      },
    )

    it('restarts pods that are ready already, which had a value that is lost', async () => {
      const { status } = rollingOut(2)
      place(WEB, reads(NEW), { status })
      const conditions = [{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' }]
      place(WORKER, reads(NEW), { status: { ...status, readyReplicas: 0, conditions } })
      await upgrade()
      expect(restarts()).toEqual([WEB, WORKER])
    })
  })

  it('restarts the readers of a key that was edited, and no others', async () => {
    place(WORKER, {
      initContainers: reads(['COLLECTOR_JWT_SECRET']).containers,
      containers: reads(['PLATFORM_DEBUG_TOKEN'], 'another').containers,
      volumes: [{ secret: { secretName: 'another' } }],
    })
    const both = { RESTART_DEPLOYMENTS: ['demo-web', 'demo-worker'] }
    await run(both)
    edit('demo-secrets', { PLATFORM_DEBUG_TOKEN: 'by hand' })
    await run(both)
    expect(restarts()).toEqual([WEB])
    place(WORKER, { volumes: [{ secret: { secretName: 'demo-secrets' } }] })
    await run(both)
    edit('demo-secrets', { PLATFORM_DEBUG_TOKEN: 'once more' })
    await run(both)
    expect(restarts()).toEqual([WEB, WEB, WORKER])
  })

  it('reads again when another writer was faster, and keeps what that one wrote', async () => {
    let raced = false
    cluster.intercept = ({ method }) => {
      if (method !== 'PATCH' || raced) return false
      raced = true
      put('demo-secrets', { PLATFORM_DEBUG_TOKEN: 'theirs' })
      return false
    }
    await run()
    expect(values()).toMatchObject({ PLATFORM_DEBUG_TOKEN: 'theirs' })
    expect(values()['COLLECTOR_JWT_SECRET']).toHaveLength(64)
  })

  it('reads the service account token for each call, as the kubelet renews it', async () => {
    await run()
    await cluster.setToken('token-2')
    await run()
    expect(cluster.calls.at(0)?.authorization).toBe('Bearer token-1')
    expect(cluster.calls.at(-1)?.authorization).toBe('Bearer token-2')
  })

  it('tells which right is missing', async () => {
    cluster.intercept = (_, response) => forbidden(response, { verb: 'get', resource: 'secrets' })
    await expect(run()).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('cannot get resource "secrets"'),
    })
  })

  it('tells that the Secret is missing', async () => {
    cluster.objects.clear()
    await expect(run()).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('demo-secrets'),
    })
  })

  it('says that the API server is unavailable', async () => {
    await cluster.stop()
    await expect(run()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('read the Secret'),
    })
    cluster = await startKubernetes()
  })

  it('never writes a value into the log', async () => {
    await run()
    for (const value of Object.values(values())) expect(lines.join()).not.toContain(value)
    expect(lines.join()).toContain('fingerprint')
  })
})

describe('secrets:follow', () => {
  const follow = (): Promise<void> => perform(followSecret, { PLATFORM_SECRET: 'mine' })

  beforeEach(() => place(WEB, { containers: [{ envFrom: [{ secretRef: { name: 'mine' } }] }] }))

  it("restarts the readers of the operator's Secret, and never writes it", async () => {
    put('mine', { PLATFORM_DEBUG_TOKEN: 'first', DB_PASSWORD: 'p' })
    await follow()
    expect(restarts()).toEqual([])
    edit('mine', { PLATFORM_DEBUG_TOKEN: 'second' })
    await follow()
    await follow()
    expect(restarts()).toEqual([WEB])
    const calls = cluster.calls.filter(({ path }) => path.startsWith(SECRETS))
    expect(new Set(calls.map(({ method, path }) => `${method} ${path}`))).toEqual(
      new Set([`GET ${SECRETS}/mine`]),
    )
  })

  it('has nothing to do while there is no such Secret', async () => {
    await follow()
    expect(cluster.calls).toHaveLength(1)
  })
})
