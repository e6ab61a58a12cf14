import { describe, expect, it } from 'vitest'
import type { ValuesOverrides } from '../../infra/values.ts'
import { containersOf, find, manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const web = (): Manifest => find(manifests(), 'Deployment', 'web').spec.template

describe('the access of the diagnostic probe (7, platform_pods)', () => {
  it('is get and list on Deployments, list on pods of the namespace, for web alone', () => {
    const objects = manifests()
    expect(find(objects, 'Role', 'platform-health').rules).toEqual([
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'list'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    ])
    expect(find(objects, 'RoleBinding', 'platform-health').subjects).toEqual([
      { kind: 'ServiceAccount', name: 'demo-web', namespace: 'prod' },
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

  it('tell the volume of the database where it is the one of the chart', () => {
    const envOf = (overrides: ValuesOverrides): readonly Manifest[] =>
      find(manifests(overrides), 'Deployment', 'web').spec.template.spec.containers[0].env
    const postgres = { storage: { size: '30Gi' } }
    expect(envOf({ postgres })).toContainEqual({ name: 'DB_VOLUME_SIZE', value: '30Gi' })
    const external = { postgres: { enabled: false }, envVars: { DB_HOST: 'db.example.com' } }
    const names = envOf({ ...external, secrets: { DB_PASSWORD: 'pw' } }).map(({ name }) => name)
    expect(names).not.toContain('DB_VOLUME_SIZE')
  })

  it('are not restarted because their database is unavailable', () => {
    for (const name of ['web', 'worker', 'oauth']) {
      const [container] = find(manifests(), 'Deployment', name).spec.template.spec.containers
      expect(container.livenessProbe.httpGet.path).toBe('/health/live')
    }
  })

  it('keep web in its Service without the database, and take the others out', () => {
    const pathsOf = (name: string) => {
      const [container] = find(manifests(), 'Deployment', name).spec.template.spec.containers
      const { startupProbe, readinessProbe } = container
      return [startupProbe, readinessProbe].map(({ httpGet }) => httpGet.path)
    }
    expect(pathsOf('web')).toEqual(['/health/ready', '/health/ready'])
    expect(pathsOf('worker')).toEqual(['/health', '/health'])
    expect(pathsOf('oauth')).toEqual(['/health', '/health'])
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

describe('the sign-in', () => {
  const variables = (overrides: ValuesOverrides): readonly Manifest[] =>
    find(manifests(overrides), 'Deployment', 'web').spec.template.spec.containers[0].env.filter(
      ({ name }: Manifest) => /^(AUTH|OIDC)_/.test(name),
    )

  it('is by password, and nothing is said of a provider', () => {
    expect(variables({})).toEqual([{ name: 'AUTH_PROVIDER', value: 'local' }])
  })

  it('is with an identity provider, whose client secret stays a secret', () => {
    const auth = { provider: 'okta', issuerUrl: 'https://idp.example.com', clientId: 'platform' }
    expect(variables({ auth, secrets: { OIDC_CLIENT_SECRET: 'client-secret' } })).toEqual([
      { name: 'AUTH_PROVIDER', value: 'okta' },
      { name: 'AUTH_PASSWORDS', value: 'on' },
      { name: 'OIDC_ISSUER_URL', value: 'https://idp.example.com' },
      { name: 'OIDC_CLIENT_ID', value: 'platform' },
      {
        name: 'OIDC_CLIENT_SECRET',
        valueFrom: {
          secretKeyRef: { name: 'demo-secrets-overrides', key: 'OIDC_CLIENT_SECRET' },
        },
      },
      { name: 'OIDC_SCOPES', value: 'openid profile email' },
      { name: 'OIDC_DEFAULT_ROLE', value: 'viewer' },
    ])
  })

  it('makes platform-admins and members of those who carry a claim', () => {
    const auth = {
      provider: 'oidc',
      issuerUrl: 'https://idp.example.com',
      clientId: 'platform',
      adminClaim: 'realm_access.roles',
      adminValue: 'platform admins',
      groupsClaim: 'groups',
      groups: 'crews -> Acme: editor',
      defaultRole: 'none' as const,
    }
    expect(variables({ auth, secrets: { existingSecret: 'own' } }).slice(-5)).toEqual([
      { name: 'OIDC_ADMIN_CLAIM', value: 'realm_access.roles' },
      { name: 'OIDC_ADMIN_VALUE', value: 'platform admins' },
      { name: 'OIDC_GROUPS_CLAIM', value: 'groups' },
      { name: 'OIDC_GROUPS', value: 'crews -> Acme: editor' },
      { name: 'OIDC_DEFAULT_ROLE', value: 'none' },
    ])
  })

  it('lists everything that is missing at once', () => {
    expect(() => manifests({ auth: { passwords: 'off' } })).toThrow(
      'auth.passwords must be on while auth.provider is local: no one could sign in',
    )
    expect(() => manifests({ auth: { provider: 'oidc', adminValue: 'admins' } })).toThrow(
      new RegExp(
        'auth\\.issuerUrl is required.*auth\\.clientId is required.*' +
          'OIDC_CLIENT_SECRET.*auth\\.adminClaim is required',
        's',
      ),
    )
  })
})

describe('the diagnostic report (2.3, platform_pods)', () => {
  const expected = (overrides: ValuesOverrides): unknown =>
    find(manifests(overrides), 'Deployment', 'web').spec.template.spec.containers[0].env.find(
      ({ name }: Manifest) => name === 'PLATFORM_DEPLOYMENTS',
    ).value

  it.each<[string, ValuesOverrides]>([
    ['the defaults', {}],
    ['nothing but web and worker', minimal()],
    ['all but BuildKit', { buildkit: { enabled: false } }],
  ])('expects every Deployment that the chart makes, with %s', (_, overrides) => {
    const names = manifests(overrides)
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata }): string => metadata.name.replace('demo-', ''))
    expect(String(expected(overrides)).split(',').toSorted()).toEqual(names.toSorted())
  })

  function minimal(): ValuesOverrides {
    const enabled = false
    return {
      oauth: { enabled },
      collector: { enabled },
      buildkit: { enabled },
      internalRegistry: { enabled },
    }
  }
})

describe('metrics', () => {
  it.each(['web', 'oauth'])(
    'of %s have a port of their own, named to the monitoring alone',
    (of) => {
      const objects = manifests({ [of]: { metricsPort: 9191 } })
      const { metadata, spec } = find(objects, 'Deployment', of).spec.template
      expect(metadata.annotations).toMatchObject({
        'prometheus.io/path': '/metrics',
        'prometheus.io/port': '9191',
      })
      expect(spec.containers[0].ports).toContainEqual({ name: 'metrics', containerPort: 9191 })
      expect(spec.containers[0].env).toContainEqual({ name: 'METRICS_PORT', value: '9191' })
      expect(find(objects, 'Service', of).spec.ports).toHaveLength(1)
    },
  )
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

describe('the proxies that web trusts', () => {
  it.each([
    ['none by default', {}, '0'],
    ['the controller of an ingress', { ingress: { enabled: true } }, '1'],
    ['a gateway', { httpRoute: { enabled: true, gateway: 'public' } }, '1'],
    ['none when told so', { ingress: { enabled: true }, web: { trustedProxies: 0 } }, '0'],
    ['as many as told', { web: { trustedProxies: '2' } }, '2'],
  ])('are %s', (_, overrides: ValuesOverrides, count) => {
    const { env } = find(manifests(overrides), 'Deployment', 'web').spec.template.spec.containers[0]
    expect(env).toContainEqual({ name: 'TRUSTED_PROXIES', value: count })
  })
})
