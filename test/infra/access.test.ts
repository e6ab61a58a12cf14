import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { INTERNAL_DEFINITIONS } from '../../services/platform/definitions/internal-crew-definitions.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { checkManifest } from './support/kubernetes-schema.ts'
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

  it('have names in the cluster that no other release has', () => {
    const namesOf = (name: string, namespace: string): readonly string[] => {
      const overrides = { crews: { namespaceIsolation: true } }
      return manifests(overrides, { name, namespace })
        .filter(({ metadata }) => metadata.namespace === undefined)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    }
    const ours = namesOf('eu-platform', 'prod')
    const theirs = namesOf('platform', 'prod-eu')
    expect(ours).toContain('ClusterRole prod.eu-platform-crews')
    expect(ours.filter((name) => theirs.includes(name))).toEqual([])
  })

  it('are not there while rbac.create is false', () => {
    expect(grants({ rbac: { create: false }, crews: { namespaceIsolation: true } })).toEqual([])
  })
})

describe('the admission policy', () => {
  const ISOLATED = { crews: { namespaceIsolation: true } }
  const HOME = { 'platform/home': 'prod' }
  const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  const RESTRICTED_NOT = { 'pod-security.kubernetes.io/enforce': 'privileged' }
  const OURS = { ...HOME, ...RESTRICTED }
  const policy = (overrides: ValuesOverrides): Manifest =>
    manifests(overrides).find(({ kind }) => kind === 'ValidatingAdmissionPolicy')

  interface Write {
    readonly resource: string
    readonly operation?: string
    /** The namespace, and its labels. */
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly object?: Manifest
    readonly oldObject?: Manifest
  }

  /** Of what the rules have, each word means in JavaScript what it means in CEL. */
  function refusals(overrides: ValuesOverrides, write: Write): readonly string[] {
    const { resource, operation = 'CREATE', namespace = '', labels, object, oldObject } = write
    const context = {
      request: { resource: { group: '', resource }, operation, namespace },
      namespaceObject: resource === 'namespaces' ? null : { metadata: { labels } },
      object: object ?? null,
      oldObject: oldObject ?? null,
      has: (value: unknown) => value !== undefined,
    }
    return policy(overrides).spec.validations.flatMap(({ expression, message }: Manifest) =>
      isTrue(expression, context) ? [] : [message],
    )
  }

  /** An expression that fails refuses as well. */
  function isTrue(expression: string, context: object): boolean {
    try {
      return runInNewContext(expression, context) === true
    } catch {
      return false
    }
  }

  const organization = (name: string, labels?: object) => ({ metadata: { name, labels } })
  const program = (spec: string) => ({ spec: { template: { spec } } })

  it("is about workers and the crews' Job, and refuses what it cannot judge", () => {
    const { spec } = policy(ISOLATED)
    expect(spec.failurePolicy).toBe('Fail')
    expect(spec.matchConditions[0].expression).toBe(
      "request.userInfo.username in ['system:serviceaccount:prod:demo-worker', " +
        "'system:serviceaccount:prod:demo-crews']",
    )
    const accounts = grants(ISOLATED).filter(
      ({ namespace, rights }) =>
        namespace === '*' && rights.some((right) => !/^(get|list) /.test(right)),
    )
    expect([...new Set(accounts.map(({ account }) => account))]).toEqual(['worker', 'crews'])
    const binding = manifests(ISOLATED).find(
      ({ kind }) => kind === 'ValidatingAdmissionPolicyBinding',
    )
    expect([policy(ISOLATED), binding].flatMap(checkManifest)).toEqual([])
    expect(binding.spec).toEqual({
      policyName: 'prod.demo-crew-border',
      validationActions: ['Deny'],
    })
  })

  it.each<readonly [string, Write]>([
    ['an object', { resource: 'jobs', namespace: 'prod-crews-org-3', labels: OURS }],
    ['the end of one', { resource: 'jobs', operation: 'DELETE', namespace: 'o', labels: OURS }],
    ['a namespace', { resource: 'namespaces', object: organization('prod-crews-org-3', OURS) }],
    [
      'the labels of a namespace of its own',
      {
        resource: 'namespaces',
        operation: 'UPDATE',
        object: organization('prod-crews-org-3', OURS),
        oldObject: organization('prod-crews-org-3', HOME),
      },
    ],
    ['an object where crews are without isolation', { resource: 'jobs', namespace: 'prod-crews' }],
    [
      'the restart of the registry',
      {
        resource: 'deployments',
        operation: 'UPDATE',
        namespace: 'prod',
        object: program('same'),
        oldObject: program('same'),
      },
    ],
    ['what was there', { resource: 'services', operation: 'DELETE', namespace: 'prod' }],
  ])('lets through %s', (_, write) => {
    expect(refusals(ISOLATED, write)).toEqual([])
  })

  it.each<readonly [string, Write]>([
    ['a Job in kube-system', { resource: 'jobs', namespace: 'kube-system', labels: {} }],
    ['one where nothing is labelled', { resource: 'jobs', namespace: 'other' }],
    ['one of another platform', { resource: 'jobs', labels: { 'platform/home': 'other' } }],
    ['a Job beside the platform', { resource: 'jobs', namespace: 'prod', labels: HOME }],
    ['another namespace', { resource: 'namespaces', object: organization('mine', OURS) }],
    [
      'one without Pod Security',
      { resource: 'namespaces', object: organization('prod-crews-org-3', HOME) },
    ],
    [
      'the end of Pod Security',
      {
        resource: 'namespaces',
        operation: 'UPDATE',
        object: organization('prod-crews-org-3', { ...OURS, ...RESTRICTED_NOT }),
        oldObject: organization('prod-crews-org-3', OURS),
      },
    ],
    [
      'the label on a namespace of others',
      {
        resource: 'namespaces',
        operation: 'UPDATE',
        object: organization('prod-crews-org-3', OURS),
        oldObject: organization('prod-crews-org-3'),
      },
    ],
    [
      'the end of a namespace',
      { resource: 'namespaces', operation: 'DELETE', oldObject: organization('x', OURS) },
    ],
    [
      'another pod for the registry',
      {
        resource: 'deployments',
        operation: 'UPDATE',
        namespace: 'prod',
        object: program('mine'),
        oldObject: program('same'),
      },
    ],
  ])('refuses %s', (_, write) => {
    expect(refusals(ISOLATED, write)).toHaveLength(1)
  })

  it('is there with isolation, and where the operator wants it', () => {
    const isThere = (overrides: ValuesOverrides): boolean =>
      manifests(overrides).some(({ kind }) => kind === 'ValidatingAdmissionPolicy')
    expect([{}, ISOLATED, { rbac: { admissionPolicy: true } }].map(isThere)).toEqual([
      false,
      true,
      true,
    ])
  })

  it('lets crews be beside the platform, where the operator put them', () => {
    const overrides = { crews: { namespace: 'prod' }, rbac: { admissionPolicy: true } }
    expect(refusals(overrides, { resource: 'jobs', namespace: 'prod' })).toEqual([])
  })
})
