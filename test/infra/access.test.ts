import { describe, expect, it } from 'vitest'
import { INTERNAL_DEFINITIONS } from '../../services/platform/internal-crew-definitions.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const CREWS = Object.keys(INTERNAL_DEFINITIONS).map((slug) => `crew-${slug}`)

const of = (
  resource: string,
  verbs: readonly string[],
  names: readonly string[],
): readonly string[] => names.flatMap((name) => verbs.map((verb) => `${verb} ${resource} ${name}`))

/** What the installer of the crews removes from the namespace in which crews were before. */
const FORMER = ['/secrets', '/services', 'apps/deployments'].flatMap((resource) =>
  of(resource, ['delete'], CREWS),
)

const demo = (component: string): string => `demo-${component}`

/**
 * Every call to the Kubernetes API that the programs make: what `services/**` asks of
 * `shared/kubernetes`.
 */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  crews: [
    ...of('/secrets', ['create', 'patch'], [...CREWS, 'crew-image-pull']),
    ...of('/services', ['create', 'patch'], CREWS),
    ...of('apps/deployments', ['get', 'create', 'patch'], CREWS),
    ...of('networking.k8s.io/networkpolicies', ['create', 'patch', 'delete'], ['crew-network']),
    'list /pods',
  ],
  worker: [
    ...['get', 'list', 'create', 'patch', 'delete'].map((verb) => `${verb} /services`),
    ...['create', 'patch', 'delete'].map((verb) => `${verb} /secrets`),
    ...['apps/deployments', 'batch/jobs', 'networking.k8s.io/networkpolicies'].flatMap((resource) =>
      ['get', 'create', 'patch', 'delete'].map((verb) => `${verb} ${resource}`),
    ),
    'list /pods',
    'get /pods/log',
    'get /services demo-internal-registry',
    'patch apps/deployments demo-internal-registry',
  ],
  web: ['get apps/deployments', 'list apps/deployments', 'list /pods'],
  bootstrap: [
    'get /secrets demo-secrets',
    'patch /secrets demo-secrets',
    'get /secrets demo-secrets-overrides',
    'get /secrets demo-keys',
    'create /secrets demo-keys',
    'patch /secrets demo-keys',
    'get /secrets demo-build-tls',
    'patch /secrets demo-build-tls',
    ...of(
      'apps/deployments',
      ['get', 'patch'],
      ['web', 'worker', 'oauth', 'collector', 'internal-registry'].map(demo),
    ),
    ...of('apps/statefulsets', ['get', 'patch'], [demo('postgres')]),
  ],
}

const granted = (rules: readonly Manifest[]): readonly string[] =>
  rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
    apiGroups.flatMap((group: string) =>
      resources.flatMap((resource: string) =>
        resourceNames.flatMap((name: string) =>
          verbs.map((verb: string) => `${verb} ${group}/${resource} ${name}`.trim()),
        ),
      ),
    ),
  )

interface Grant {
  readonly account: string
  /** `*` for the whole cluster. */
  readonly namespace: string
  readonly rights: readonly string[]
}

function grants(overrides: ValuesOverrides = {}): readonly Grant[] {
  const objects = manifests(overrides)
  return objects
    .filter(({ kind }) => /^(Cluster)?RoleBinding$/.test(kind))
    .map(({ kind, metadata, roleRef, subjects }) => {
      const role = objects.find(
        (object) =>
          object.kind === roleRef.kind &&
          object.metadata.name === roleRef.name &&
          object.metadata.namespace === metadata.namespace,
      )
      return {
        account: subjects[0].name.replace('demo-', ''),
        namespace: kind === 'ClusterRoleBinding' ? '*' : (metadata.namespace ?? ''),
        rights: granted(role.rules),
      }
    })
}

describe('the Roles', () => {
  it('grant exactly the calls that the programs make', () => {
    for (const [account, calls] of Object.entries(CALLS)) {
      const own = grants().filter((grant) => grant.account === account)
      const rights = new Set(own.flatMap((grant) => grant.rights))
      const expected = account === 'crews' ? [...calls, ...FORMER] : calls
      expect([...rights].toSorted()).toEqual(expected.toSorted())
    }
    const accounts = new Set(grants().map(({ account }) => account))
    expect([...accounts]).toEqual(Object.keys(CALLS).toReversed())
  })

  it('give a token to the pods that call, and to no others', () => {
    const callers = podsOf(manifests())
      .filter(({ pod }) => pod.spec.automountServiceAccountToken)
      .map(({ pod }) => pod.spec.serviceAccountName.replace('demo-', ''))
    expect(callers).toEqual(Object.keys(CALLS).toReversed())
  })

  const grantsOf = (
    component: string,
    overrides: ValuesOverrides,
  ): readonly (readonly [string, readonly string[]])[] =>
    grants(overrides)
      .filter(({ account }) => account === component)
      .map(({ namespace, rights }) => [namespace, rights])

  it('reach the crews in a namespace of their own, which the release creates', () => {
    expect(grantsOf('web', {})).toEqual([
      ['prod', CALLS['web']],
      ['prod-crews', CALLS['web']],
    ])
    expect(grantsOf('crews', {})).toEqual([
      ['prod', FORMER],
      ['prod-crews', CALLS['crews']],
    ])
    const [namespace] = manifests().filter(({ kind }) => kind === 'Namespace')
    expect(namespace.metadata.name).toBe('prod-crews')
    expect(namespace.metadata.labels['pod-security.kubernetes.io/enforce']).toBe('restricted')
  })

  it('in a namespace that the operator created, even that of the release', () => {
    for (const name of ['crews', 'prod']) {
      const overrides = { crews: { namespace: name } }
      expect(grantsOf('web', overrides)[1]).toEqual([name, CALLS['web']])
      expect(grantsOf('crews', overrides)[1]).toEqual([name, CALLS['crews']])
      expect(manifests(overrides).filter(({ kind }) => kind === 'Namespace')).toEqual([])
    }
  })

  it('are those of accounts in the namespace of the release', () => {
    const subjects = manifests()
      .filter(({ kind }) => kind === 'RoleBinding')
      .map((binding) => binding.subjects[0].namespace)
    expect([...new Set(subjects)]).toEqual(['prod'])
  })

  it('or in one per organization, cluster-wide (7, k8s_namespace_isolation)', () => {
    const overrides = { crews: { namespace: 'crews', namespaceIsolation: true } }
    expect(grantsOf('web', overrides)).toEqual([
      ['prod', CALLS['web']],
      ['*', CALLS['web']],
    ])
    expect(grantsOf('crews', overrides)).toEqual([
      ['prod', FORMER],
      ['*', CALLS['crews']],
      ['*', ['create /namespaces', 'patch /namespaces']],
    ])
  })

  it('let workers deploy crews where the crews are, and nowhere else', () => {
    const registry = [
      'prod',
      ['get /services demo-internal-registry', 'patch apps/deployments demo-internal-registry'],
    ]
    const there = CALLS['worker']?.filter((right) => !right.endsWith('internal-registry'))
    expect(grantsOf('worker', {})).toEqual([['prod-crews', there], registry])
    expect(grantsOf('worker', { crews: { fromSource: false } })).toEqual([])
    expect(grantsOf('worker', { crews: { namespaceIsolation: true } })).toEqual([
      ['*', there],
      registry,
      ['*', ['create /namespaces', 'patch /namespaces']],
    ])
  })

  it('keep the crew installer from every Secret and pod of the platform', () => {
    const atHome = grantsOf('crews', {})
      .filter(([namespace]) => namespace === 'prod')
      .flatMap(([, rights]) => rights)
    expect(atHome).toEqual(FORMER)
    expect(atHome.filter((right) => !/^delete .* crew-(assistant|runner)$/.test(right))).toEqual([])
  })

  it('let nobody make or change anything but to install and deploy crews', () => {
    const writers = grants({ crews: { install: false, fromSource: false } }).filter(
      ({ account, rights }) =>
        rights.some((right) => account !== 'bootstrap' && !/^(get|list) /.test(right)),
    )
    expect(writers).toEqual([])
  })

  it('are not there while rbac.create is false', () => {
    expect(grants({ rbac: { create: false }, crews: { namespaceIsolation: true } })).toEqual([])
  })
})
