import { describe, expect, it } from 'vitest'
import { contextOf } from '../../infra/render.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { chart, containersOf, find, manifests, podsOf, RELEASE } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const TOKEN = 'a-token-of-the-operator-with-enough-characters'

const referencesTo = (objects: readonly Manifest[], key: string): readonly string[] => [
  ...new Set(
    podsOf(objects)
      .flatMap(({ pod }) => containersOf(pod).flatMap(({ env = [] }) => env))
      .map(({ valueFrom }: Manifest) => valueFrom?.secretKeyRef)
      .filter((reference: Manifest) => reference?.key === key)
      .map((reference: Manifest) => reference.name),
  ),
]

const checksumOf = (overrides: ValuesOverrides, name: string): string =>
  find(manifests(overrides), 'Deployment', name).spec.template.metadata.annotations[
    'checksum/secrets'
  ]

describe('the platform Secret (5.1)', () => {
  it('is an empty shell that outlives the release; its keys are in no manifest', () => {
    const secret = find(manifests(), 'Secret', 'secrets')
    expect(secret).not.toHaveProperty('data')
    expect(secret).not.toHaveProperty('stringData')
    expect(secret.metadata.annotations['helm.sh/resource-policy']).toBe('keep')
  })

  it('holds the debug token under PLATFORM_DEBUG_TOKEN', () => {
    expect(referencesTo(manifests(), 'PLATFORM_DEBUG_TOKEN')).toEqual(['demo-secrets'])
  })

  it('lets the gate of the registry wait for its key, unless the operator has the Secret', () => {
    const gateOf = (overrides: ValuesOverrides): Manifest =>
      find(manifests(overrides), 'Deployment', 'internal-registry')
        .spec.template.spec.containers.flatMap(({ env = [] }: Manifest) => env)
        .find(({ name }: Manifest) => name === 'REGISTRY_KEY').valueFrom.secretKeyRef
    expect(gateOf({})).not.toHaveProperty('optional')
    expect(gateOf({ secrets: { existingSecret: 'mine' } })).toMatchObject({ optional: true })
  })

  it('comes without a second one while nothing is overridden', () => {
    expect(find(manifests(), 'Secret', 'secrets-overrides')).toBeUndefined()
  })
})

describe('secrets.* overrides (5.1)', () => {
  const overrides = { secrets: { PLATFORM_DEBUG_TOKEN: TOKEN } }

  it('stand in a Secret of their own, with exactly the keys that are set', () => {
    expect(find(manifests(overrides), 'Secret', 'secrets-overrides').stringData).toEqual({
      PLATFORM_DEBUG_TOKEN: TOKEN,
    })
  })

  it('are read by the pods directly, so that no pod starts with the former value', () => {
    const objects = manifests(overrides)
    expect(referencesTo(objects, 'PLATFORM_DEBUG_TOKEN')).toEqual(['demo-secrets-overrides'])
    expect(referencesTo(objects, 'SECRET_KEY_BASE')).toEqual(['demo-secrets'])
  })

  it('restart all that read secrets when the operator says that one has changed', () => {
    for (const name of ['web', 'worker', 'oauth', 'collector']) {
      expect(checksumOf({ secrets: { revision: '2' } }, name)).not.toBe(checksumOf({}, name))
    }
  })

  it('restart the pods that use them, and no others', () => {
    expect(checksumOf(overrides, 'web')).not.toBe(checksumOf({}, 'web'))
    expect(checksumOf(overrides, 'worker')).toBe(checksumOf({}, 'worker'))
    expect(checksumOf(overrides, 'collector')).toBe(checksumOf({}, 'collector'))
  })
})

describe('the bootstrap Job', () => {
  const job = (overrides: ValuesOverrides = {}): Manifest =>
    manifests(overrides).find(
      ({ kind, metadata }) => kind === 'Job' && metadata.name.startsWith('demo-bootstrap-'),
    )

  const env = (overrides: ValuesOverrides = {}): Readonly<Record<string, string>> =>
    Object.fromEntries(
      job(overrides).spec.template.spec.containers[0].env.map(({ name, value }: Manifest) => [
        name,
        value,
      ]),
    )

  it('fills the keys that pods refer to', () => {
    for (const key of env()['PLATFORM_SECRET_KEYS']?.split(',') ?? []) {
      expect(referencesTo(manifests(), key)).toEqual(['demo-secrets'])
    }
  })

  it('may do what it does and no more: named objects, and nothing listed', () => {
    const { rules } = find(manifests(), 'Role', 'bootstrap')
    expect(rules).toEqual([
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['demo-secrets'],
        verbs: ['get', 'patch'],
      },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['demo-secrets-overrides'],
        verbs: ['get'],
      },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['demo-build-tls'],
        verbs: ['get', 'patch'],
      },
      {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['demo-keys'],
        verbs: ['get', 'create', 'patch'],
      },
      {
        apiGroups: ['apps'],
        resources: ['deployments'],
        resourceNames: env()['RESTART_DEPLOYMENTS']?.split(','),
        verbs: ['get', 'patch'],
      },
      {
        apiGroups: ['apps'],
        resources: ['statefulsets'],
        resourceNames: [env()['RESTART_POSTGRES']],
        verbs: ['get', 'patch'],
      },
    ])
  })

  it('keeps what cannot be generated again in a Secret that no manifest makes', () => {
    expect(env()['PLATFORM_SECRET_KEPT']).toBe('demo-keys')
    expect(find(manifests(), 'Secret', 'keys')).toBeUndefined()
  })

  it('has another name whenever its pods would differ: a Job cannot be changed', () => {
    const variants: readonly ValuesOverrides[] = [
      {},
      { image: { tag: '2.0.0' } },
      { image: { pullPolicy: 'Always' } },
      { global: { image: { registry: 'registry.example.com' } } },
      { global: { image: { pullSecret: 'shared' } } },
      { collector: { enabled: false } },
      { envVars: { LOG_LEVEL: 'debug' } },
      { secrets: { PLATFORM_DEBUG_TOKEN: TOKEN } },
      { web: { nodeSelector: { disk: 'fast' } } },
      { web: { priorityClassName: 'high' } },
    ]
    const names = variants.map((overrides) => job(overrides).metadata.name)
    expect(new Set(names).size).toBe(variants.length)
    expect(job({ worker: { replicaCount: 2 } }).metadata.name).toBe(names[0])
  })

  it('comes after everything that it needs when Argo CD applies it', () => {
    const wave = ({ metadata }: Manifest): number =>
      Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0)
    const needed = ['ServiceAccount', 'Role', 'RoleBinding'].map((kind) =>
      find(manifests(), kind, 'bootstrap'),
    )
    for (const object of [...needed, find(manifests(), 'Secret', 'secrets')]) {
      expect(wave(object)).toBeLessThan(wave(job()))
    }
    expect(wave(job())).toBeLessThan(wave(find(manifests(), 'Deployment', 'web')))
  })

  it('generates no database password where there is none to generate (appendix 5)', () => {
    const iam = {
      postgres: { enabled: false },
      dbProxy: { enabled: true, autoIamAuthn: true, instanceConnectionName: 'a:b:c' },
    }
    expect(env()['PLATFORM_SECRET_KEYS']).toContain('DB_PASSWORD')
    expect(env(iam)['PLATFORM_SECRET_KEYS']).not.toContain('DB_PASSWORD')
  })

  it('only reads a Secret of the operator, to restart its readers; it creates none', () => {
    const own = { secrets: { existingSecret: 'mine' }, buildkit: { enabled: false } }
    const objects = manifests(own)
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([])
    expect(referencesTo(objects, 'PLATFORM_DEBUG_TOKEN')).toEqual(['mine'])
    expect(job(own).spec.template.spec.containers[0].command).toContain('secrets:follow')
    expect(env(own)['PLATFORM_SECRET']).toBe('mine')
    const { rules } = find(objects, 'Role', 'bootstrap')
    expect(rules.filter(({ resources }: Manifest) => resources[0] === 'secrets')).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get'] },
    ])
    for (const { resourceNames } of rules) expect(resourceNames).not.toEqual([])
  })

  it('is not there when it may not even read that Secret', () => {
    const objects = manifests({ secrets: { existingSecret: 'mine' }, rbac: { create: false } })
    expect(objects.filter(({ metadata }) => /bootstrap/.test(metadata.name))).toEqual([])
  })
})

describe('the keys that the database is sealed with', () => {
  const migrate = (name: string, overrides: ValuesOverrides = {}): Manifest =>
    containersOf(find(manifests(overrides), 'Deployment', name).spec.template).find(
      (container) => container.name === 'migrate',
    )
  const keys = (name: string, overrides: ValuesOverrides = {}): readonly string[] =>
    migrate(name, overrides)
      .env.map((variable: Manifest) => variable.name)
      .filter((variable: string) => /^(SECRET_KEY|OAUTH_ENC)/.test(variable))

  it('are made sure of before each program starts that has them', () => {
    expect(keys('web')).toEqual(['SECRET_KEY_BASE'])
    expect(keys('worker')).toEqual(['SECRET_KEY_BASE'])
    expect(keys('oauth')).toEqual(['OAUTH_ENCRYPTION_KEY'])
  })

  it('may be rotated: the former ones come along, optional in a Secret of the operator', () => {
    const rotated = { secrets: { SECRET_KEY_BASE_PREVIOUS: TOKEN } }
    expect(keys('web', rotated)).toEqual(['SECRET_KEY_BASE', 'SECRET_KEY_BASE_PREVIOUS'])
    const own = { secrets: { existingSecret: 'mine' } }
    const former = migrate('oauth', own).env.find(
      (variable: Manifest) => variable.name === 'OAUTH_ENCRYPTION_KEY_PREVIOUS',
    )
    expect(former.valueFrom.secretKeyRef).toEqual({
      name: 'mine',
      key: 'OAUTH_ENCRYPTION_KEY_PREVIOUS',
      optional: true,
    })
  })
})

describe('the templates', () => {
  it('contain nothing random and look nothing up, so that every render is the same', () => {
    for (const [path, content] of chart.files) {
      if (!path.startsWith('templates/')) continue
      const actions = content.match(/\{\{-? [^"}]*/g) ?? []
      expect(actions.join('\n')).not.toMatch(
        /\b(lookup|rand\w+|genCA|genSelfSignedCert|derivePassword|now|uuidv4)\b/,
      )
    }
  })
})

describe('a secret value in a Secret of your own', () => {
  const overrides = {
    secretKeyRefs: {
      SECRET_KEY_BASE: { name: 'sessions', key: 'signing-key' },
      DB_PASSWORD: { name: 'postgres-credentials' },
    },
  }
  const objects = manifests(overrides)

  it('is read from there by every container, under the key that you name', () => {
    const sources = podsOf(objects)
      .flatMap(({ pod }) => containersOf(pod).flatMap(({ env = [] }) => env))
      .filter(({ name }: Manifest) =>
        /^(SECRET_KEY_BASE|DB_PASSWORD|POSTGRES_PASSWORD)$/.test(name),
      )
      .map(({ name, valueFrom }: Manifest) => [name, valueFrom.secretKeyRef])
    expect(sources.length).toBeGreaterThan(10)
    for (const [name, { name: secret, key }] of sources) {
      const expected = name.startsWith('SECRET') ? 'sessions' : 'postgres-credentials'
      expect({ secret, key }).toEqual({
        secret: expected,
        key: expected === 'sessions' ? 'signing-key' : 'DB_PASSWORD',
      })
    }
  })

  it('is not made by the bootstrap, which makes the others', () => {
    const [job] = objects.filter(({ metadata }) => metadata.name.startsWith('demo-bootstrap-'))
    const [{ env }] = job.spec.template.spec.containers
    const keys = env.find(({ name }: Manifest) => name === 'PLATFORM_SECRET_KEYS').value
    expect(keys).toBe(
      'PLATFORM_DEBUG_TOKEN,PLATFORM_OAUTH_API_KEY,OAUTH_ENCRYPTION_KEY,COLLECTOR_JWT_SECRET,' +
        'REGISTRY_KEY',
    )
  })

  it.each([
    [{ secrets: { DB_PASSWORD: 'p' } }, 'DB_PASSWORD and secretKeyRefs.DB_PASSWORD.name exclude'],
    [{ secretKeyRefs: { REGISTRY_KEY: { key: 'a' } } }, 'secretKeyRefs.REGISTRY_KEY.name is requ'],
  ])('is refused with %j', (more, message) => {
    expect(() => contextOf([overrides, more], RELEASE)).toThrow(message)
  })
})
