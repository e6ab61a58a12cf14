import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ValuesOverrides } from '../../infra/values.ts'
import { readVersions } from '../../scripts/release/versions.ts'
import { containersOf, find, manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const collector = (overrides: ValuesOverrides = {}): Manifest =>
  find(manifests(overrides), 'Deployment', 'collector')

const container = (pod: Manifest, name: string): Manifest =>
  containersOf(pod.spec.template).find((candidate) => candidate.name === name)

const variable = (of: Manifest, name: string): Manifest =>
  of.env.find((candidate: Manifest) => candidate.name === name)

const main = (overrides: ValuesOverrides = {}): Manifest =>
  container(collector(overrides), 'collector')

/** Overrides for a PostgreSQL outside the cluster. */
const EXTERNAL = {
  postgres: { enabled: false },
  envVars: { DB_HOST: 'db.example.com' },
  secrets: { DB_PASSWORD: 'a password' },
} satisfies ValuesOverrides

const PROXY = {
  postgres: { enabled: false },
  dbProxy: { enabled: true, instanceConnectionName: 'project:region:instance' },
} satisfies ValuesOverrides

describe('the collector Deployment (2.6, 4.6, 5.4, 8)', () => {
  it('has one replica, and as many as asked for', () => {
    expect(collector().spec.replicas).toBe(1)
    expect(collector({ collector: { replicaCount: 4 } }).spec.replicas).toBe(4)
  })

  it('probes GET /health: 5 min to start, 10 s for liveness, 5 s for readiness (8)', () => {
    const { startupProbe, livenessProbe, readinessProbe } = main()
    for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
      expect(probe.httpGet).toEqual({ path: '/health', port: 'http' })
    }
    expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBe(300)
    expect(livenessProbe.periodSeconds).toBe(10)
    expect(readinessProbe.periodSeconds).toBe(5)
  })

  it('carries the scrape annotations, as its pods do, with the metrics port (4.6)', () => {
    expect(collector().metadata.annotations).toEqual({
      'prometheus.io/scrape': 'true',
      'prometheus.io/path': '/metrics',
      'prometheus.io/port': '9090',
    })
    expect(collector().spec.template.metadata.annotations).toMatchObject({
      'prometheus.io/scrape': 'true',
      'prometheus.io/path': '/metrics',
      'prometheus.io/port': '9090',
    })
    const { annotations } = collector({ collector: { metricsPort: 9191 } }).spec.template.metadata
    expect(annotations['prometheus.io/port']).toBe('9191')
  })

  it('runs as user 1000 on a read-only root without capabilities or escalation (5.4)', () => {
    expect(main().securityContext).toMatchObject({
      runAsUser: 1000,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    })
  })

  it('has the resources of 2.6, each of which can be set alone', () => {
    expect(main().resources).toEqual({
      limits: { cpu: '500m', memory: '512Mi' },
      requests: { cpu: '100m', memory: '128Mi' },
    })
    expect(main({ collector: { resources: { limits: { cpu: '2' } } } }).resources.limits).toEqual({
      cpu: '2',
      memory: '512Mi',
    })
  })

  it('listens on the ports that are set, and its Service follows', () => {
    const objects = manifests({ collector: { port: 8181, metricsPort: 9191 } })
    expect(main({ collector: { port: 8181, metricsPort: 9191 } }).ports).toEqual([
      { name: 'http', containerPort: 8181 },
      { name: 'metrics', containerPort: 9191 },
    ])
    expect(find(objects, 'Service', 'collector').spec).toMatchObject({
      type: 'ClusterIP',
      ports: [
        { name: 'http', port: 8181, targetPort: 'http' },
        { name: 'metrics', port: 9191, targetPort: 'metrics' },
      ],
    })
    const web = find(objects, 'Deployment', 'web')
    expect(variable(container(web, 'web'), 'COLLECTOR_URL').value).toBe(
      'http://demo-collector:8181',
    )
  })

  it('opens a port for gRPC when it is asked to, with the certificate of a Secret', () => {
    expect(variable(main(), 'GRPC_PORT')).toBeUndefined()
    const overrides = { collector: { grpc: { enabled: true, port: 4400, tlsSecret: 'traces' } } }
    const pod = collector(overrides).spec.template.spec
    const port = { name: 'grpc', containerPort: 4400 }
    expect(main(overrides).ports).toContainEqual(port)
    expect(variable(main(overrides), 'GRPC_PORT').value).toBe('4400')
    const { value: mountPath } = variable(main(overrides), 'GRPC_TLS_DIRECTORY')
    const { name } = main(overrides).volumeMounts.find(
      (one: Manifest) => one.mountPath === mountPath,
    )
    expect(pod.volumes).toContainEqual({ name, secret: { secretName: 'traces' } })
    expect(find(manifests(overrides), 'Service', 'collector').spec.ports).toContainEqual({
      name: 'grpc',
      port: 4400,
      targetPort: 'grpc',
    })
  })

  it('lets senders of a namespace in, and nobody from outside without one', () => {
    const fromOutside = (overrides: ValuesOverrides) =>
      find(manifests(overrides), 'NetworkPolicy', 'collector')
        .spec.ingress.filter(({ from }: Manifest) =>
          JSON.stringify(from).includes('"kubernetes.io/metadata.name":"billing"'),
        )
        .flatMap(({ ports }: Manifest) => ports.map(({ port }: Manifest) => port))
    const grpc = { collector: { grpc: { enabled: true } } }
    const named = { networkPolicy: { tracesNamespace: 'billing' } }
    expect(fromOutside(grpc)).toEqual([])
    expect(fromOutside(named)).toEqual(['http'])
    expect(fromOutside({ ...grpc, ...named })).toEqual(['http', 'grpc'])
  })

  it('hands its settings to the service', () => {
    const { env } = main({ collector: { config: { retentionWeeks: '4' } } })
    const settings = Object.fromEntries(env.map(({ name, value }: Manifest) => [name, value]))
    expect(settings).toMatchObject({
      PORT: '8080',
      METRICS_PORT: '9090',
      STORAGE_TYPE: 'postgres',
      SINK_TYPE: 'memory_batch',
      RETENTION_WEEKS: '4',
      DB_NAME: 'collector',
    })
  })

  it('redacts what is asked for, with files and keys from Secrets of the operator', () => {
    const names = (env: Manifest[]) => env.map(({ name }) => String(name))
    expect(names(main().env).filter((name) => name.startsWith('COLLECTOR_REDACT'))).toEqual([])
    const redact = {
      kinds: 'cards,emails,custom',
      expressionsSecret: 'our-shapes',
      hashKeySecret: 'our-key',
    }
    const { env, volumeMounts } = main({ collector: { config: { redact } } })
    expect(env).toContainEqual({ name: 'COLLECTOR_REDACT', value: 'cards,emails,custom' })
    expect(env).toContainEqual({
      name: 'COLLECTOR_REDACT_FILE',
      value: '/etc/redaction/expressions',
    })
    expect(env).toContainEqual({
      name: 'COLLECTOR_REDACT_HASH_KEY',
      valueFrom: { secretKeyRef: { name: 'our-key', key: 'hashKey' } },
    })
    expect(volumeMounts).toContainEqual({
      name: 'redaction',
      mountPath: '/etc/redaction',
      readOnly: true,
    })
  })

  it('keeps traces of an organization for as many days as its own value says', () => {
    const name = 'COLLECTOR_ORGANIZATION_RETENTION_DAYS'
    const of = (organizationRetentionDays: Readonly<Record<string, string>>): ValuesOverrides => ({
      collector: { config: { organizationRetentionDays } },
    })
    expect(variable(main(), name)).toBeUndefined()
    const days = { '7': '30', '': '14' }
    expect(JSON.parse(variable(main(of(days)), name).value)).toEqual(days)
    expect(() => main(of({ '7': '0' }))).toThrow('days as a string of digits')
    expect(() => main(of({ ['x'.repeat(65)]: '1' }))).toThrow('the id of an organization')
  })

  it('archives days of an organization as soon as its own value says', () => {
    const name = 'COLLECTOR_ORGANIZATION_HOT_DAYS'
    const archive = { existingClaim: 'archive', organizationHotDays: { '7': '3' } }
    const of = (enabled: boolean): ValuesOverrides => ({
      collector: { archive: { ...archive, enabled } },
    })
    expect(variable(main(of(false)), name)).toBeUndefined()
    expect(JSON.parse(variable(main(of(true)), name).value)).toEqual({ '7': '3' })
  })

  it('reads the prices of the operator, and starts anew with others', () => {
    expect(find(manifests(), 'ConfigMap', 'collector-prices')).toBeUndefined()
    const pricesOf = (price: number): ValuesOverrides => {
      const prices = { prices: [{ models: ['ours'], per_million: { input: price } }] }
      return { collector: { config: { prices: JSON.stringify(prices, null, 2) } } }
    }
    const { data } = find(manifests(pricesOf(1)), 'ConfigMap', 'collector-prices')
    expect(JSON.parse(data['prices.json'])).toMatchObject({ prices: [{ models: ['ours'] }] })
    const { env, volumeMounts } = main(pricesOf(1))
    expect(env).toContainEqual({
      name: 'COLLECTOR_PRICES_FILE',
      value: '/etc/prices/prices.json',
    })
    expect(volumeMounts).toContainEqual({
      name: 'prices',
      mountPath: '/etc/prices',
      readOnly: true,
    })
    const annotations = (price: number): unknown =>
      collector(pricesOf(price)).spec.template.metadata.annotations
    expect(annotations(1)).not.toEqual(annotations(2))
    expect(() => main({ collector: { config: { prices: 'gpt-4o: 2.5' } } })).toThrow('in JSON')
  })

  it('goes to the nodes that are named, and names none by default', () => {
    const nodeSelector = { disk: 'fast' }
    expect(collector({ collector: { nodeSelector } }).spec.template.spec.nodeSelector).toEqual(
      nodeSelector,
    )
    expect(collector().spec.template.spec).not.toHaveProperty('nodeSelector')
  })
})

describe('collector.enabled (2.6, 4.6)', () => {
  it('injects COLLECTOR_URL and COLLECTOR_JWT_SECRET into web and worker', () => {
    for (const name of ['web', 'worker']) {
      const service = container(find(manifests(), 'Deployment', name), name)
      expect(variable(service, 'COLLECTOR_URL').value).toBe('http://demo-collector:8080')
      expect(variable(service, 'COLLECTOR_JWT_SECRET').valueFrom.secretKeyRef).toEqual({
        name: 'demo-secrets',
        key: 'COLLECTOR_JWT_SECRET',
      })
    }
  })

  it('deploys nothing of the collector when it is false, and injects nothing', () => {
    const objects = manifests({ collector: { enabled: false } })
    // As text of its own: a failure would otherwise print every manifest.
    expect(JSON.stringify(objects).match(/.{40}(COLLECTOR_|collector).{40}/)?.[0]).toBe(undefined)
  })
})

describe('the image rule (2.6), the same for every image', () => {
  const images = (overrides: ValuesOverrides): readonly string[] => [
    ...new Set(
      podsOf(manifests(overrides)).flatMap(({ pod }) =>
        containersOf(pod).map(({ image }) => image),
      ),
    ),
  ]

  const { collector: tag } = readVersions()
  const host = 'own.example.com'
  const global = { image: { registry: 'global.example.com' } }
  const prefix = { image: { namePrefixOverride: 'mirror/all' } }

  it.each<[string, ValuesOverrides, string]>([
    ['the default name and tag', {}, `crew-platform/collector:${tag}`],
    [
      'the global registry while host is empty',
      { global },
      `global.example.com/crew-platform/collector:${tag}`,
    ],
    [
      'its own host before the global one',
      { global, collector: { image: { host } } },
      `own.example.com/crew-platform/collector:${tag}`,
    ],
    [
      'no double slash',
      { collector: { image: { host: 'own.example.com/' } } },
      `own.example.com/crew-platform/collector:${tag}`,
    ],
    [
      'only the last path component behind a prefix override',
      { global: prefix },
      `mirror/all/collector:${tag}`,
    ],
    [
      'a prefix override in a registry',
      { global: { image: { ...global.image, ...prefix.image } } },
      `global.example.com/mirror/all/collector:${tag}`,
    ],
    [
      'a deep name behind a prefix override',
      { global: prefix, collector: { image: { name: 'a/b/c' } } },
      `mirror/all/c:${tag}`,
    ],
    ['its tag', { collector: { image: { tag: '0.2.0' } } }, 'crew-platform/collector:0.2.0'],
  ])('uses %s', (_, overrides, expected) => {
    expect(main(overrides).image).toBe(expected)
  })

  it('takes every image of every pod from the global registry', () => {
    for (const overrides of [{ global }, { global, ...PROXY, secrets: { DB_PASSWORD: 'x' } }]) {
      for (const image of images(overrides)) expect(image).toMatch(/^global\.example\.com\//)
    }
  })

  it('passes the pull policy on', () => {
    expect(main().imagePullPolicy).toBe('IfNotPresent')
    expect(main({ collector: { image: { pullPolicy: 'Always' } } }).imagePullPolicy).toBe('Always')
  })

  const secrets = (overrides: ValuesOverrides): readonly string[] =>
    (collector(overrides).spec.template.spec.imagePullSecrets ?? []).map(
      ({ name }: Manifest) => name,
    )

  it('inherits the global pull secret, or uses its own, each once', () => {
    const inherited = { global: { image: { pullSecret: 'shared' } } }
    expect(secrets({})).toEqual([])
    expect(secrets(inherited)).toEqual(['shared'])
    expect(secrets({ collector: { image: { pullSecret: 'own' } } })).toEqual(['own'])
    expect(secrets({ ...inherited, collector: { image: { pullSecret: 'own' } } })).toEqual([
      'own',
      'shared',
    ])
  })
})

describe('the init container that waits for PostgreSQL', () => {
  it('ends at once on SIGTERM, although it is the first process of its container', async () => {
    const [shell = '', ...args] = container(collector(), 'wait-for-postgres').command
    const directory = mkdtempSync(join(tmpdir(), 'never-ready-'))
    const never = join(directory, 'pg_isready')
    writeFileSync(never, '#!/bin/sh\necho no response\nexit 2\n', { mode: 0o755 })
    const env = { PATH: `${directory}:${process.env['PATH']}` }
    const child = spawn(shell, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
    await once(child.stdout, 'data')
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([143, null])
    rmSync(directory, { recursive: true })
  })
})

describe('how the collector reaches its database (2.6, appendix)', () => {
  interface Route {
    readonly host: string
    readonly password: 'secret' | 'empty'
    readonly initContainers: readonly string[]
    readonly createsDatabase: 'true' | 'false'
  }

  const inCluster: Route = {
    host: 'demo-postgres',
    password: 'secret',
    initContainers: ['wait-for-postgres', 'migrate'],
    createsDatabase: 'true',
  }
  const external: Route = {
    host: 'db.example.com',
    password: 'secret',
    initContainers: ['migrate'],
    createsDatabase: 'false',
  }
  const proxied: Route = { ...external, host: '127.0.0.1', initContainers: ['db-proxy', 'migrate'] }
  const iam: Route = { ...proxied, password: 'empty' }

  // postgres.enabled × dbProxy.enabled × dbProxy.autoIamAuthn: every cell, refused or routed.
  it.each<{ cell: [boolean, boolean, boolean]; expected: Route | string }>([
    { cell: [true, false, false], expected: inCluster },
    { cell: [true, false, true], expected: 'dbProxy.autoIamAuthn needs dbProxy.enabled' },
    { cell: [true, true, false], expected: 'dbProxy.enabled needs postgres.enabled: false' },
    { cell: [true, true, true], expected: 'dbProxy.enabled needs postgres.enabled: false' },
    { cell: [false, false, false], expected: external },
    { cell: [false, false, true], expected: 'dbProxy.autoIamAuthn needs dbProxy.enabled' },
    { cell: [false, true, false], expected: proxied },
    { cell: [false, true, true], expected: iam },
  ])('postgres, proxy, IAM: $cell', ({ cell: [postgres, proxy, autoIamAuthn], expected }) => {
    const overrides = {
      ...EXTERNAL,
      postgres: { enabled: postgres },
      dbProxy: { ...PROXY.dbProxy, enabled: proxy, autoIamAuthn },
    }
    if (typeof expected === 'string') {
      expect(() => manifests(overrides)).toThrow(expected)
      return
    }
    const pod = collector(overrides)
    expect(pod.spec.template.spec.initContainers.map(({ name }: Manifest) => name)).toEqual(
      expected.initContainers,
    )
    expect(variable(container(pod, 'migrate'), 'COLLECTOR_CREATE_DATABASE').value).toBe(
      expected.createsDatabase,
    )
    for (const name of ['migrate', 'collector']) {
      const service = container(pod, name)
      expect(variable(service, 'DB_HOST').value).toBe(expected.host)
      const password = variable(service, 'DB_PASSWORD')
      if (expected.password === 'empty') expect(password).toEqual({ name: 'DB_PASSWORD' })
      else expect(password.valueFrom.secretKeyRef.key).toBe('DB_PASSWORD')
    }
  })

  it('adds the proxy to every pod that uses the database, as a sidecar that starts first', () => {
    const pods = podsOf(manifests({ ...PROXY, secrets: { DB_PASSWORD: 'x' } }))
    const proxies = pods.map(({ owner, pod }) => [owner, pod.spec.initContainers?.[0]?.name])
    expect(Object.fromEntries(proxies)).toMatchObject({
      'Deployment demo-collector': 'db-proxy',
      'Deployment demo-web': 'db-proxy',
      'Deployment demo-worker': 'db-proxy',
    })
    const [sidecar] = collector({ ...PROXY, secrets: { DB_PASSWORD: 'x' } }).spec.template.spec
      .initContainers
    expect(sidecar.restartPolicy).toBe('Always')
    expect(sidecar.args).toContain('--http-port=9801')
    expect(sidecar.args).not.toContain('--auto-iam-authn')
  })

  it('uses a database of its own, never the main one (appendix 3)', () => {
    expect(variable(main(), 'DB_NAME').value).toBe('collector')
    expect(variable(main({ postgres: { collectorDatabase: 'traces' } }), 'DB_NAME').value).toBe(
      'traces',
    )
    expect(() => manifests({ postgres: { collectorDatabase: 'platform' } })).toThrow(
      'never uses the main database',
    )
  })

  it('may be called as the main database is on another server, and only there (appendix 3)', () => {
    const database = { host: 'traces.example', passwordSecret: 'traces' }
    const external = {
      postgres: { enabled: false, collectorDatabase: 'platform' },
      envVars: { DB_HOST: 'db.example' },
      secrets: { DB_PASSWORD: 'x' },
    }
    const on = (own: object) =>
      manifests({ ...external, collector: { database: { ...database, ...own } } })
    expect(() => on({})).not.toThrow()
    expect(() => on({ host: 'db.example', port: 5433 })).not.toThrow()
    expect(() => on({ host: 'db.example', name: 'traces' })).not.toThrow()
    const refusal = 'collector.database must not be the main database'
    expect(() => on({ host: 'db.example' })).toThrow(refusal)
    expect(() => on({ host: 'db.example', name: 'platform' })).toThrow(refusal)
  })

  it.each(['1.11.9', '1.2', 'v1.11.0-rc1', '0.9.3'])(
    'is refused for an image of the platform that sends no traces: %s (9)',
    (tag) => {
      expect(() => manifests({ image: { tag } })).toThrow('image.tag must be 1.12 or later')
      expect(() => manifests({ image: { tag }, collector: { enabled: false } })).not.toThrow()
    },
  )

  it.each(['', '1.12.0', 'v1.13.2', '1.120', '2.0.0', '11.0', 'latest', 'main-1.2'])(
    'is deployed with any other tag: "%s"',
    (tag) => {
      expect(() => manifests({ image: { tag } })).not.toThrow()
    },
  )

  const OWN = {
    collector: { database: { host: 'traces.example.com', port: 6432, passwordSecret: 'traces' } },
  }

  it('may have a server of its own, with its own user (appendix 3)', () => {
    const objects = manifests({ collector: OWN.collector })
    const pod = find(objects, 'Deployment', 'collector').spec.template
    expect(pod.spec.initContainers.map(({ name }: Manifest) => name)).toEqual(['migrate'])
    for (const service of containersOf(pod)) {
      expect(variable(service, 'DB_HOST').value).toBe('traces.example.com')
      expect(variable(service, 'DB_PORT').value).toBe('6432')
      expect(variable(service, 'DB_USER').value).toBe('collector')
      expect(variable(service, 'DB_SSLMODE').value).toBe('require')
      expect(variable(service, 'DB_PASSWORD').valueFrom.secretKeyRef).toEqual({
        name: 'traces',
        key: 'password',
      })
    }
    expect(variable(containersOf(pod)[0], 'COLLECTOR_CREATE_DATABASE').value).toBe('false')
    const [web] = find(objects, 'Deployment', 'web').spec.template.spec.containers
    expect(variable(web, 'DB_HOST').value).toBe('demo-postgres')
    const { egress } = find(objects, 'NetworkPolicy', 'database').spec
    expect(egress).toContainEqual({ ports: [{ protocol: 'TCP', port: 6432 }] })
    const callers = find(objects, 'NetworkPolicy', 'postgres').spec.ingress[0].from
    expect(JSON.stringify(callers)).not.toContain('collector')
  })

  it('takes another name for the database there, and creates it on request', () => {
    const { database } = OWN.collector
    const created = { database: { ...database, name: 'spans', create: true } }
    const pod = find(manifests({ collector: created }), 'Deployment', 'collector').spec.template
    const [migration, service] = containersOf(pod)
    for (const one of [migration, service]) expect(variable(one, 'DB_NAME').value).toBe('spans')
    expect(variable(migration, 'COLLECTOR_CREATE_DATABASE').value).toBe('true')
    // The platform's own server has the database that `postgres.collectorDatabase` names.
    const shared = { collector: { database: { name: 'spans', create: true } }, ...EXTERNAL }
    const [migrationThere] = containersOf(
      find(manifests(shared), 'Deployment', 'collector').spec.template,
    )
    expect(variable(migrationThere, 'DB_NAME').value).toBe('collector')
    expect(variable(migrationThere, 'COLLECTOR_CREATE_DATABASE').value).toBe('false')
  })

  it('reads from a replica whose address is in a Secret, and may connect to it', () => {
    const readDatabase = { urlSecret: 'replica', urlKey: 'address', port: 6433 }
    const objects = manifests({ collector: { readDatabase } })
    const [service] = find(objects, 'Deployment', 'collector').spec.template.spec.containers
    expect(variable(service, 'COLLECTOR_READ_DATABASE_URL').valueFrom.secretKeyRef).toEqual({
      name: 'replica',
      key: 'address',
    })
    const { egress } = find(objects, 'NetworkPolicy', 'database').spec
    expect(egress).toContainEqual({ ports: [{ protocol: 'TCP', port: 6433 }] })
    expect(variable(main({}), 'COLLECTOR_READ_DATABASE_URL')).toBeUndefined()
  })

  it.each([
    [
      { collector: { database: { host: 'traces' } } },
      'collector.database.passwordSecret is required',
    ],
    [{ ...PROXY, ...OWN }, 'collector.database.host needs dbProxy.enabled: false'],
  ])('refuses %j', (overrides, told) => {
    expect(() => manifests(overrides)).toThrow(told)
  })

  it('never fills the volume that sign-in needs: half of it is for traces, or what is said', () => {
    const limits = (overrides: ValuesOverrides) =>
      ['COLLECTOR_VOLUME_SIZE', 'COLLECTOR_MAX_STORAGE_BYTES'].map(
        (name) => variable(main(overrides), name)?.value,
      )
    expect(limits({})).toEqual(['20Gi', undefined])
    expect(limits({ collector: { config: { maxStorageBytes: '5000000000' } } })[1]).toBe(
      '5000000000',
    )
    expect(limits(EXTERNAL)).toEqual([undefined, undefined])
  })

  it('takes user and password from the shared values', () => {
    const service = main({ envVars: { DB_USER: 'shared' } })
    expect(variable(service, 'DB_USER').value).toBe('shared')
    expect(variable(service, 'DB_PASSWORD').valueFrom.secretKeyRef.name).toBe('demo-secrets')
  })
})
