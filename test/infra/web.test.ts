import { describe, expect, it } from 'vitest'
import { containersOf, find, manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const web = (): Manifest => find(manifests(), 'Deployment', 'web').spec.template

describe('the access of the diagnostic probe (7, platform_pods)', () => {
  it('is get and list on the Deployments of the install namespace, for web alone', () => {
    const objects = manifests()
    expect(find(objects, 'Role', 'platform-health').rules).toEqual([
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] },
    ])
    expect(find(objects, 'RoleBinding', 'platform-health').subjects).toEqual([
      { kind: 'ServiceAccount', name: 'demo-web' },
    ])
    expect(web().spec).toMatchObject({
      serviceAccountName: 'demo-web',
      automountServiceAccountToken: true,
    })
  })

  it('is not given while rbac.create is false', () => {
    const objects = manifests({ rbac: { create: false } })
    expect(find(objects, 'Role', 'platform-health')).toBeUndefined()
    expect(find(objects, 'RoleBinding', 'platform-health')).toBeUndefined()
  })
})

describe('web and worker', () => {
  it('tell the service that it is self-hosted on Kubernetes (4.1)', () => {
    const env: readonly Manifest[] = web().spec.containers[0].env
    expect(env).toContainEqual({ name: 'PLATFORM_SELF_HOSTED', value: 'true' })
    expect(env).toContainEqual({ name: 'PLATFORM_PROVIDER', value: 'kubernetes' })
  })

  it('are not restarted because their database is away', () => {
    for (const name of ['web', 'worker', 'oauth']) {
      const [container] = find(manifests(), 'Deployment', name).spec.template.spec.containers
      expect(container.livenessProbe.httpGet.path).toBe('/health/live')
      expect(container.readinessProbe.httpGet.path).toBe('/health')
    }
  })

  it('take variables of the operator, which can never collide with those of the chart', () => {
    const objects = manifests({
      extraEnvVars: { LOG_LEVEL: 'silly', OPENAI_BASE_URL: 'http://llm' },
    })
    expect(find(objects, 'ConfigMap', 'extra-env').data).toEqual({
      LOG_LEVEL: 'silly',
      OPENAI_BASE_URL: 'http://llm',
    })
    const [container] = find(objects, 'Deployment', 'web').spec.template.spec.containers
    expect(container.envFrom).toEqual([{ configMapRef: { name: 'demo-extra-env' } }])
    expect(container.env).toContainEqual({ name: 'LOG_LEVEL', value: 'info' })
  })

  it('take variables from Secrets of the operator', () => {
    const objects = manifests({ envFromSecrets: [{ name: 'llm-keys' }, { name: 'more' }] })
    const [container] = find(objects, 'Deployment', 'worker').spec.template.spec.containers
    expect(container.envFrom).toEqual([
      { secretRef: { name: 'llm-keys' } },
      { secretRef: { name: 'more' } },
    ])
  })

  it('keep name look-ups from stalling the rest of the process, in every service of ours', () => {
    const ours = podsOf(manifests())
      .flatMap(({ pod }) => containersOf(pod))
      .filter(({ image }) => image.startsWith('crew-platform/'))
    expect(ours.length).toBeGreaterThan(5)
    for (const { env } of ours)
      expect(env).toContainEqual({ name: 'UV_THREADPOOL_SIZE', value: '16' })
  })
})

describe('PostgreSQL in the cluster (appendix 1)', () => {
  it('is a StatefulSet on a volume where PostgreSQL 18 keeps its data', () => {
    const { spec } = find(manifests(), 'StatefulSet', 'postgres')
    const [container] = spec.template.spec.containers
    expect(container.image).toBe('postgres:18.6')
    expect(container.volumeMounts).toContainEqual({
      name: 'data',
      mountPath: '/var/lib/postgresql',
    })
    expect(spec.volumeClaimTemplates[0].spec.resources.requests.storage).toBe('20Gi')
  })

  it('is not there while an external server is used', () => {
    const objects = manifests({
      postgres: { enabled: false },
      envVars: { DB_HOST: 'db.example.com' },
      secrets: { DB_PASSWORD: 'x' },
    })
    expect(objects.filter(({ metadata }) => metadata.name.includes('postgres'))).toEqual([])
  })
})
