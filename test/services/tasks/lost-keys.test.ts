import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLlmKeys } from '../../../services/platform/connections/llm-keys.ts'
import { createKubernetes } from '../../../services/shared/kubernetes/client.ts'
import { createLog } from '../../../services/shared/log.ts'
import { bootstrapSecrets } from '../../../services/tasks/bootstrap-secrets.ts'
import type { BootstrapConfig } from '../../../services/tasks/env.ts'
import { runTask } from '../../../services/tasks/start.ts'
import { manifests, find } from '../../infra/support/platform.ts'
import { startKubernetes } from '../../support/kubernetes.ts'
import type { KubernetesStub, StoredObject } from '../../support/kubernetes.ts'
import { useDatabase } from '../../support/use-database.ts'

const SECRET = '/api/v1/namespaces/default/secrets/demo-secrets'
const KEPT = '/api/v1/namespaces/default/secrets/demo-keys'
const WEB = '/apis/apps/v1/namespaces/default/deployments/demo-web'
const POSTGRES = '/apis/apps/v1/namespaces/default/statefulsets/demo-postgres'

const database = useDatabase()
let cluster: KubernetesStub
let key: string

beforeAll(async () => {
  const { sql } = database
  await sql`insert into organizations (name) values ('Acme')`
  await sql`
    insert into llm_connections (organization_id, name, provider, model)
    select id, 'main', 'openai', 'm' from organizations where name = 'Acme'`
})

beforeEach(async () => {
  cluster = await startKubernetes()
  put(SECRET, {})
  put(WEB, {})
  put(POSTGRES, {})
  await database.sql`truncate key_fingerprints`
  await database.sql`update llm_connections set sealed_key = null`
})
afterEach(() => cluster.stop())

function put(path: string, object: Record<string, unknown>): void {
  cluster.objects.set(path, { metadata: { resourceVersion: '1' }, ...object })
}

const valuesOf = (path: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(cluster.objects.get(path)?.['data'] ?? {}).map(([key, value]) => [
      key,
      Buffer.from(String(value), 'base64').toString(),
    ]),
  )

/** What the bootstrap Job of the chart does, on the database that the test has. */
function bootstrap(config: Partial<BootstrapConfig> = {}): Promise<void> {
  const log = createLog({ name: 'test', level: 'silent' })
  return bootstrapSecrets(
    createKubernetes(cluster.address),
    {
      LOG_LEVEL: 'silent',
      POD_NAMESPACE: 'default',
      PLATFORM_SECRET: 'demo-secrets',
      PLATFORM_SECRET_KEPT: 'demo-keys',
      PLATFORM_SECRET_KEYS: ['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY', 'COLLECTOR_JWT_SECRET'],
      RESTART_DEPLOYMENTS: ['demo-web'],
      RESTART_POSTGRES: undefined,
      // The password of a server of the operator's own, which is in no generated Secret.
      DATABASE_URL: database.url,
      DB_PORT: 5432,
      DB_PASSWORD: '',
      DB_SSLMODE: 'disable',
      DATABASE_WAIT_SECONDS: 0,
      ...config,
    },
    log,
  )
}

/** An installation with a sealed key, whose web runs. */
async function install(): Promise<void> {
  await bootstrap()
  key = valuesOf(SECRET)['SECRET_KEY_BASE'] ?? ''
  await migrate(key)
  const { sql } = database
  const [connection] = await sql<[{ id: number; organizationId: number }]>`
    select id, organization_id from llm_connections`
  const sealed = createLlmKeys(key).seal('sk-1', connection)
  await sql`update llm_connections set sealed_key = ${sealed}`
  patch(WEB, { status: { readyReplicas: 1 } })
}

const migrate = (key: string): Promise<number> =>
  runTask(['migrate'], {
    DATABASE_URL: database.url,
    LOG_LEVEL: 'silent',
    SECRET_KEY_BASE: key,
  })

function patch(path: string, more: Record<string, unknown>): void {
  cluster.objects.set(path, { ...(cluster.objects.get(path) as StoredObject), ...more })
}

/** The Secret as the chart renders it: what a replacement leaves of it. */
const rendered = (): StoredObject => {
  const { metadata, type } = find(manifests(), 'Secret', 'secrets')
  return { metadata: { ...metadata, resourceVersion: '50' }, type }
}

/** What is written of Deployments when the chart replaces them: none of our annotations. */
function replaceAll(): void {
  cluster.objects.set(SECRET, rendered())
  const status = cluster.objects.get(WEB)?.['status']
  cluster.objects.set(WEB, { metadata: { resourceVersion: '51' }, status })
}

const REPLACEMENTS: Readonly<Record<string, () => void>> = {
  'helm upgrade --force-replace, kubectl replace, or Replace=true of Argo CD': replaceAll,
  'a replacement that deletes first': () => {
    cluster.objects.delete(SECRET)
    replaceAll()
  },
}

const writes = () => cluster.calls.filter(({ method }) => method !== 'GET')

describe.each(Object.entries(REPLACEMENTS))('after %s', (_, replace) => {
  it('keys come back from the Secret that no manifest has, or none is made', async () => {
    await install()
    replace()
    await bootstrap()
    expect(valuesOf(SECRET)['SECRET_KEY_BASE']).toBe(key)
    await migrate(key)

    replace()
    cluster.objects.delete(KEPT)
    cluster.calls.length = 0
    await expect(bootstrap()).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining(
        'have lost keys that the database is sealed with SECRET_KEY_BASE ' +
          '(the keys of LLM connections and webhooks, and the secrets of crews)',
      ),
    })
    expect(writes()).toEqual([])
    expect(valuesOf(SECRET)).toEqual({})
  })
})

describe('a refusal', () => {
  it('names commands that put the key back, after which the Job ends well', async () => {
    await install()
    replaceAll()
    cluster.objects.delete(KEPT)
    const message = await bootstrap().then(String, (error: Error) => error.message)
    expect(message).toContain(
      'kubectl -n default exec deployment/demo-web -- printenv SECRET_KEY_BASE',
    )
    const [, name, body = ''] = /patch secret (\S+) --type merge -p '(.*)'/.exec(message) ?? []
    await createKubernetes(cluster.address)({
      method: 'PATCH',
      path: `/api/v1/namespaces/default/secrets/${name}`,
      body: JSON.parse(body.replace('THE-KEY', key)),
    })
    await bootstrap()
    expect(valuesOf(SECRET)).toMatchObject({
      SECRET_KEY_BASE: key,
      OAUTH_ENCRYPTION_KEY: expect.stringMatching(/^\w{64}$/),
    })
    expect(valuesOf(KEPT)['SECRET_KEY_BASE']).toBe(key)
    await migrate(key)
  })

  it('ends when the loss is accepted', async () => {
    await install()
    replaceAll()
    cluster.objects.delete(KEPT)
    await expect(bootstrap()).rejects.toThrow('keys:accept SECRET_KEY_BASE')
    const source = { DATABASE_URL: database.url, LOG_LEVEL: 'silent' }
    await runTask(['keys:accept', 'SECRET_KEY_BASE'], source)
    await bootstrap()
    expect(valuesOf(SECRET)['SECRET_KEY_BASE']).not.toBe(key)
    await migrate(valuesOf(SECRET)['SECRET_KEY_BASE'] ?? '')
  })
})

describe('while the database cannot be asked', () => {
  const withOwnServer = {
    RESTART_POSTGRES: 'demo-postgres',
    PLATFORM_SECRET_KEYS: ['SECRET_KEY_BASE', 'DB_PASSWORD'],
  }

  it('a running pod is enough for a refusal: its password is lost too', async () => {
    patch(POSTGRES, { status: { readyReplicas: 1 } })
    await expect(bootstrap(withOwnServer)).rejects.toThrow(
      /lost keys that demo-postgres runs with, and .* \(DB_PASSWORD is lost too\): SECRET_KEY_BASE/,
    )
    expect(writes()).toEqual([])
  })

  it('so is one of a server that does not answer', async () => {
    patch(WEB, { status: { readyReplicas: 2 } })
    const away = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' }
    await expect(bootstrap(away)).rejects.toThrow('127.0.0.1:1/d does not answer')
  })

  it('a first installation gets its keys at once, before its server runs', async () => {
    await bootstrap(withOwnServer)
    expect(Object.keys(valuesOf(SECRET))).toEqual(['SECRET_KEY_BASE', 'DB_PASSWORD'])
  })

  it('no more than sealing keys are held back', async () => {
    await install()
    const { OAUTH_ENCRYPTION_KEY: other } = valuesOf(SECRET)
    put(SECRET, {
      data: Object.fromEntries(
        Object.entries({ SECRET_KEY_BASE: key, OAUTH_ENCRYPTION_KEY: other }).map(
          ([name, value]) => [name, Buffer.from(value ?? '').toString('base64')],
        ),
      ),
    })
    await bootstrap({ DATABASE_URL: 'postgres://u:p@127.0.0.1:1/d' })
    expect(valuesOf(SECRET)['COLLECTOR_JWT_SECRET']).toHaveLength(64)
  })
})
