import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import type { ValuesOverrides } from '../../infra/values.ts'
import { contextOf } from '../../infra/render.ts'
import { readVersions } from '../../scripts/release/versions.ts'
import { chartObjects, containersOf, find, manifests, podsOf, RELEASE } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'
import { restrictedViolations } from './support/pod-security.ts'

const { version } = packageJson

const deployment = (name: string, overrides: ValuesOverrides = {}): Manifest =>
  find(manifests(overrides), 'Deployment', name)

const variables = (container: Manifest): Readonly<Record<string, string>> =>
  Object.fromEntries(container.env.map(({ name, value }: Manifest) => [name, value]))

describe('the Deployments', () => {
  it('are the six long-lived ones of the diagnostic report (2.3, platform_pods)', () => {
    const names = manifests()
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ metadata }) => metadata.name.replace('demo-', ''))
    expect(new Set(names)).toEqual(
      new Set(['web', 'worker', 'oauth', 'buildkit', 'collector', 'internal-registry']),
    )
  })

  it.each(['oauth', 'buildkit', 'internalRegistry', 'collector'] as const)(
    'leave nothing of %s behind when it is off',
    (component) => {
      const name = component === 'internalRegistry' ? 'internal-registry' : component
      const objects = manifests({ [component]: { enabled: false } })
      const left = objects.filter(
        ({ metadata }) => metadata.labels['app.kubernetes.io/component'] === name,
      )
      expect(left).toEqual([])
    },
  )
})

describe('oauth', () => {
  it('has what it needs: a database, its key, a key to encrypt with, and its address', () => {
    const [server] = deployment('oauth').spec.template.spec.containers
    const names = server.env.map(({ name }: Manifest) => name)
    expect(names).toEqual(
      expect.arrayContaining(['DB_HOST', 'PLATFORM_OAUTH_API_KEY', 'OAUTH_ENCRYPTION_KEY']),
    )
    expect(variables(server)['OAUTH_PUBLIC_URL']).toBe('http://localhost:3002')
    expect(server.command).toEqual(['node', 'build/oauth/main.js'])
  })

  it('is called by web with the same key (2.4, api_key_fingerprint)', () => {
    const [web] = deployment('web').spec.template.spec.containers
    const [oauth] = deployment('oauth').spec.template.spec.containers
    const key = (container: Manifest) =>
      container.env.find(({ name }: Manifest) => name === 'PLATFORM_OAUTH_API_KEY').valueFrom
    expect(key(web)).toEqual(key(oauth))
    expect(variables(web)['PLATFORM_OAUTH_API_BASE_URL']).toBe('http://demo-oauth:3002')
  })

  it('is unknown to web while it is off, so that the report skips it (2.3)', () => {
    const [web] = deployment('web', { oauth: { enabled: false } }).spec.template.spec.containers
    expect(Object.keys(variables(web)).filter((name) => name.startsWith('PLATFORM_OAUTH'))).toEqual(
      [],
    )
  })
})

describe('buildkit', () => {
  const pod = (overrides: ValuesOverrides = {}): Manifest =>
    deployment('buildkit', overrides).spec.template

  it('departs from Pod Security "restricted" exactly where rootless builds need it', () => {
    expect(restrictedViolations('buildkit', pod())).toEqual([
      'buildkit: buildkitd: may gain privileges',
      'buildkit: buildkitd: keeps capabilities',
      'buildkit: buildkitd: has no seccomp profile',
      'buildkit: buildkitd: can write to its image',
    ])
    expect(pod().spec.securityContext.appArmorProfile).toEqual({ type: 'Unconfined' })
    expect(pod().spec.containers[0].securityContext.privileged).toBe(false)
  })

  it('asks its callers for a certificate once it has one itself', () => {
    const args = (overrides: ValuesOverrides): readonly string[] =>
      pod(overrides).spec.containers[0].args.filter((arg: string) => arg.startsWith('--tls'))
    expect(args({ crews: { fromSource: false } })).toEqual([])
    expect(args({})).toHaveLength(3)
    expect(args({ buildkit: { tlsSecret: 'certificates' } })).toHaveLength(3)
  })

  it('restarts when its configuration changes', () => {
    const checksum = (overrides: ValuesOverrides): string =>
      pod(overrides).metadata.annotations['checksum/config']
    expect(checksum({ buildkit: { cacheGigabytes: 20 } })).not.toBe(checksum({}))
    expect(checksum({ internalRegistry: { port: 5001 } })).not.toBe(checksum({}))
  })
})

describe('the registry', () => {
  it('is replaced and not rolled, because its volume goes to one node', () => {
    expect(deployment('internal-registry').spec.strategy).toEqual({ type: 'Recreate' })
  })

  it('keeps its volume when the release goes', () => {
    const { metadata } = find(manifests(), 'PersistentVolumeClaim', 'internal-registry')
    expect(metadata.annotations['helm.sh/resource-policy']).toBe('keep')
  })

  it('asks for a password once it has a list of users', () => {
    const [server] = deployment('internal-registry', {
      internalRegistry: { htpasswdSecret: 'users' },
    }).spec.template.spec.containers
    expect(variables(server)).toMatchObject({ REGISTRY_AUTH: 'htpasswd' })
  })
})

describe('the Jobs', () => {
  it('wait for an image that comes late, and give up on a program that keeps failing', () => {
    const jobs = manifests().filter(({ kind }) => kind === 'Job')
    expect(jobs).toHaveLength(3)
    for (const { spec } of jobs) {
      expect(spec).not.toHaveProperty('activeDeadlineSeconds')
      expect(spec.backoffLimit).toBe(10)
      expect(spec.template.spec.restartPolicy).toBe('OnFailure')
    }
  })
})

describe('the set-up Job', () => {
  const nameWith = (overrides: ValuesOverrides): string =>
    manifests(overrides).find(
      ({ kind, metadata }) => kind === 'Job' && metadata.name.startsWith('demo-setup-'),
    ).metadata.name

  it('has another name whenever its pod is another, and only then', () => {
    const variants: readonly ValuesOverrides[] = [
      {},
      { image: { tag: '2.0.0' } },
      { image: { digest: `sha256:${'a'.repeat(64)}` } },
      { envVars: { DB_NAME: 'other' } },
      { envVars: { LOG_LEVEL: 'debug' } },
      { secrets: { DB_PASSWORD: 'changed' } },
      { web: { nodeSelector: { disk: 'fast' } } },
    ]
    const names = variants.map(nameWith)
    expect(new Set(names).size).toBe(variants.length)
    for (const same of [{ worker: { replicaCount: 2 } }, { collector: { port: 8181 } }]) {
      expect(nameWith(same)).toBe(names[0])
    }
  })

  it('runs with each upgrade, so that what a database has lost comes back', () => {
    const names = [1, 2].map((revision) => jobOf('setup', {}, revision).metadata.name)
    expect(names[1]).toMatch(/^demo-setup-2-[0-9a-f]{8}$/)
    expect(names[0]).toBe(names[1].replace('-2-', '-1-'))
    expect(nameWith({})).toBe(names[0])
  })
})

describe('the probes', () => {
  it('give a busy node five seconds or more for an answer', () => {
    const containers = podsOf(manifests()).flatMap(({ pod }) => containersOf(pod))
    const probes = containers.flatMap(({ startupProbe, livenessProbe, readinessProbe }) =>
      [startupProbe, livenessProbe, readinessProbe].filter(Boolean),
    )
    expect(probes).toHaveLength(21)
    expect(probes.filter(({ timeoutSeconds }) => !(timeoutSeconds >= 5))).toEqual([])
  })

  // PostgreSQL is the first process of its container: a child that a killed probe leaves becomes
  // its own, and it takes one that ends with 2 for a session that crashed, and ends all others.
  it.each(['startupProbe', 'readinessProbe'])(
    'of PostgreSQL leave no child behind when they are killed (%s)',
    async (name) => {
      const server = find(manifests(), 'StatefulSet', 'postgres').spec.template.spec
      const [shell = '', ...args] = server.containers[0][name].exec.command
      const directory = mkdtempSync(join(tmpdir(), 'asks-'))
      const script = '#!/bin/sh\necho $$\nexec sleep 20\n'
      writeFileSync(join(directory, 'pg_isready'), script, { mode: 0o755 })
      const env = { PATH: `${directory}:${process.env['PATH']}` }
      const probe = spawn(shell, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
      const [asking] = await once(probe.stdout, 'data')
      expect(Number(asking)).toBe(probe.pid)
      probe.kill('SIGKILL')
      await once(probe, 'exit')
      rmSync(directory, { recursive: true })
    },
  )
})

/** A Job of the chart at one revision of the release. */
function jobOf(component: string, overrides: ValuesOverrides = {}, revision = 1): Manifest {
  const context = contextOf([overrides], RELEASE)
  const next = {
    ...context,
    Release: {
      Name: RELEASE.name,
      Namespace: RELEASE.namespace,
      Service: 'Helm',
      Revision: revision,
    },
  }
  return chartObjects(next).find(
    ({ kind, metadata }) => kind === 'Job' && metadata.name.startsWith(`demo-${component}-`),
  )
}

describe("the crews' Job", () => {
  const job = (overrides: ValuesOverrides = {}, revision = 1): Manifest =>
    jobOf('crews', overrides, revision)
  const settings = (overrides: ValuesOverrides) =>
    variables(job(overrides).spec.template.spec.containers[0])

  it('runs with each upgrade, so that a crew that was deleted comes back', () => {
    expect(job({}, 2).metadata.name).toMatch(/^demo-crews-2-[0-9a-f]{8}$/)
    expect(job({}, 1).metadata.name).not.toBe(job({}, 2).metadata.name)
  })

  it('runs again when crews move to namespaces of their organizations, for the database', () => {
    const isolated = { crews: { namespaceIsolation: true } }
    expect(job(isolated).metadata.name).not.toBe(job().metadata.name)
    expect(settings({})['CREW_NAMESPACE_ISOLATION']).toBe('false')
    expect(settings(isolated)['CREW_NAMESPACE_ISOLATION']).toBe('true')
  })

  it('knows the namespace of the crews as web does', () => {
    for (const crews of [{}, { namespace: 'crews' }, { namespaceIsolation: true }]) {
      const [web] = deployment('web', { crews }).spec.template.spec.containers
      expect(settings({ crews })['K8S_NAMESPACE']).toBe(variables(web)['K8S_NAMESPACE'])
    }
    expect(settings({})['K8S_NAMESPACE']).toBe('prod-crews')
  })

  it('hands the pull secret of the image on, which pods elsewhere cannot name', () => {
    const overrides = { image: { pullSecret: 'mirror' } }
    const { spec } = job(overrides).spec.template
    expect(spec.volumes).toEqual([
      {
        name: 'pull-credentials',
        secret: {
          secretName: 'mirror',
          items: [{ key: '.dockerconfigjson', path: '.dockerconfigjson' }],
          optional: true,
        },
      },
    ])
    expect(settings(overrides)['CREW_IMAGE_PULL_FILE']).toBe('/etc/platform/pull/.dockerconfigjson')
  })
})

describe('the worker', () => {
  it('has as long to end as its runs may go on, and then some', () => {
    const pod = (overrides: ValuesOverrides): Manifest =>
      deployment('worker', overrides).spec.template.spec
    expect(pod({}).terminationGracePeriodSeconds).toBe(330)
    expect(variables(pod({}).containers[0])['WORKER_DRAIN_SECONDS']).toBe('300')
    expect(pod({ worker: { drainSeconds: 0 } }).terminationGracePeriodSeconds).toBe(30)
  })

  it('keeps runs for as many days as said', () => {
    const [container] = deployment('worker', { runs: { retentionDays: 7 } }).spec.template.spec
      .containers
    expect(variables(container)['RUNS_RETENTION_DAYS']).toBe('7')
  })
})

describe('the version that web and worker tell (2.1, environment.version)', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  it.each<[string, ValuesOverrides, string]>([
    ["the chart's", {}, version],
    ['the tag', { image: { tag: '1.14.2' } }, '1.14.2'],
    ['the tag beside a digest', { image: { tag: '1.14.2', digest } }, '1.14.2'],
    ['a digest alone', { image: { digest } }, digest],
  ])('is %s', (_, overrides, expected) => {
    for (const name of ['web', 'worker']) {
      const [container] = deployment(name, overrides).spec.template.spec.containers
      expect(variables(container)['PLATFORM_VERSION']).toBe(expected)
    }
  })
})

describe('Jobs', () => {
  it('stay when they are done, so that the cluster still equals the manifests', () => {
    const jobs = manifests().filter(({ kind }) => kind === 'Job')
    expect(jobs).toHaveLength(3)
    for (const { spec } of jobs) expect(spec).not.toHaveProperty('ttlSecondsAfterFinished')
  })
})

describe('replicas', () => {
  const budget = (name: string, overrides: ValuesOverrides): Manifest =>
    find(manifests(overrides), 'PodDisruptionBudget', name)

  it.each(['web', 'worker', 'oauth', 'collector'] as const)(
    'of %s: a disruption budget from two on, which unhealthy pods cannot block',
    (name) => {
      expect(budget(name, {})).toBeUndefined()
      const { spec } = budget(name, { [name]: { replicaCount: 2 } })
      expect(spec).toMatchObject({ maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' })
      expect(spec.selector).toEqual(deployment(name).spec.selector)
    },
  )

  it.each(['web', 'worker', 'oauth', 'collector'] as const)(
    'of %s: left to the autoscaler, when there is one',
    (name) => {
      const overrides = { [name]: { autoscaling: { enabled: true } } }
      expect(deployment(name, overrides).spec).not.toHaveProperty('replicas')
      const { spec } = find(manifests(overrides), 'HorizontalPodAutoscaler', name)
      expect(spec.scaleTargetRef).toEqual({
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: `demo-${name}`,
      })
      expect(budget(name, overrides)).toBeDefined()
    },
  )
})

describe("the operator's own additions", () => {
  it('reach the pods: labels, annotations, affinity, priority, spread', () => {
    const affinity = { nodeAffinity: {} }
    const pod = deployment('web', {
      web: {
        podLabels: { team: 'a' },
        podAnnotations: { 'mesh/inject': 'true' },
        affinity,
        priorityClassName: 'high',
      },
      topologySpread: { topologyKey: 'topology.kubernetes.io/zone' },
    }).spec.template
    expect(pod.metadata.labels).toMatchObject({ team: 'a' })
    expect(pod.metadata.annotations).toMatchObject({ 'mesh/inject': 'true' })
    expect(pod.spec).toMatchObject({ affinity, priorityClassName: 'high' })
    expect(pod.spec.topologySpreadConstraints[0].topologyKey).toBe('topology.kubernetes.io/zone')
  })

  it('never replace what the chart itself writes on pods', () => {
    const labels = { 'app.kubernetes.io/component': 'other' }
    expect(() => manifests({ web: { podLabels: labels } })).toThrow('web.podLabels')
    expect(() => manifests({ web: { podAnnotations: { 'checksum/secrets': 'x' } } })).toThrow(
      'web.podAnnotations',
    )
  })

  it('mount files into web, worker and oauth', () => {
    const overrides = { extraSecretMounts: [{ name: 'own-ca', mountPath: '/etc/own-ca' }] }
    for (const name of ['web', 'worker', 'oauth']) {
      const { spec } = deployment(name, overrides).spec.template
      expect(spec.volumes).toContainEqual({
        name: expect.stringMatching(/^secret-[0-9a-f]{8}$/),
        secret: { secretName: 'own-ca' },
      })
      expect(spec.containers[0].volumeMounts).toContainEqual({
        name: expect.stringMatching(/^secret-[0-9a-f]{8}$/),
        mountPath: '/etc/own-ca',
        readOnly: true,
      })
    }
  })

  it('pin an image by its digest, beside its tag', () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const [collector] = deployment('collector', { collector: { image: { digest } } }).spec.template
      .spec.containers
    expect(collector.image).toBe(`crew-platform/collector:${readVersions().collector}@${digest}`)
  })

  it('are refused where Kubernetes knows no such field', () => {
    const affinity = { nodeAfinity: {} } as object
    expect(() => manifests({ web: { affinity } })).toThrow(
      'web.affinity.nodeAfinity: unknown key; did you mean nodeAffinity?',
    )
  })
})

describe('every container', () => {
  it('reads Secrets one by one and names its image with a tag that is not latest', () => {
    for (const container of podsOf(manifests()).flatMap(({ pod }) => containersOf(pod))) {
      expect(container.image).toMatch(/:[^:]+$/)
      expect(container.image).not.toMatch(/:latest$/)
    }
  })
})
