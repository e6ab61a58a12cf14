import { describe, expect, it } from 'vitest'
import type { ValuesOverrides } from '../../infra/values.ts'
import { manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

/** Every call to the Kubernetes API that the programs make: what `services/**` asks of `shared/kubernetes.ts`. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  crews: [
    'create /secrets',
    'patch /secrets',
    'create /services',
    'patch /services',
    'get apps/deployments',
    'create apps/deployments',
    'patch apps/deployments',
    'list /pods',
  ],
  web: ['get apps/deployments', 'list apps/deployments', 'list /pods'],
  bootstrap: [
    'get /secrets demo-secrets',
    'patch /secrets demo-secrets',
    'get /secrets demo-secrets-overrides',
    'get /secrets demo-keys',
    'create /secrets demo-keys',
    'patch /secrets demo-keys',
    'patch apps/deployments demo-web',
    'patch apps/deployments demo-worker',
    'patch apps/deployments demo-oauth',
    'patch apps/deployments demo-collector',
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
  /** `*` for the whole cluster, `` for the namespace of the release. */
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
      expect(own.flatMap(({ rights }) => rights).toSorted()).toEqual(calls.toSorted())
    }
    expect(grants().map(({ account }) => account)).toEqual(Object.keys(CALLS).toReversed())
  })

  it('give a token to the pods that call, and to no others', () => {
    const callers = podsOf(manifests())
      .filter(({ pod }) => pod.spec.automountServiceAccountToken)
      .map(({ pod }) => pod.spec.serviceAccountName.replace('demo-', ''))
    expect(callers).toEqual(Object.keys(CALLS).toReversed())
  })

  const of = (
    component: string,
    overrides: ValuesOverrides,
  ): readonly (readonly [string, readonly string[]])[] =>
    grants(overrides)
      .filter(({ account }) => account === component)
      .map(({ namespace, rights }) => [namespace, rights])

  it('reach the crews where they run: in the namespace of the release', () => {
    expect(of('web', {})).toEqual([['', CALLS['web']]])
    expect(of('crews', {})).toEqual([['', CALLS['crews']]])
  })

  it('in a namespace of their own', () => {
    const overrides = { crews: { namespace: 'crews' } }
    expect(of('web', overrides)).toEqual([
      ['', CALLS['web']],
      ['crews', CALLS['web']],
    ])
    expect(of('crews', overrides)).toEqual([['crews', CALLS['crews']]])
    const subjects = manifests(overrides)
      .filter(({ kind, metadata }) => kind === 'RoleBinding' && metadata.namespace === 'crews')
      .map((binding) => binding.subjects)
    expect(subjects).toEqual([
      [{ kind: 'ServiceAccount', name: 'demo-web', namespace: 'prod' }],
      [{ kind: 'ServiceAccount', name: 'demo-crews', namespace: 'prod' }],
    ])
  })

  it('or in one for each organization, which only the whole cluster covers (7, k8s_namespace_isolation)', () => {
    const overrides = { crews: { namespace: 'crews', namespaceIsolation: true } }
    expect(of('web', overrides)).toEqual([
      ['', CALLS['web']],
      ['*', CALLS['web']],
    ])
    expect(of('crews', overrides)).toEqual([
      ['*', CALLS['crews']],
      ['*', ['create /namespaces', 'patch /namespaces']],
    ])
  })

  it('let nobody make or change anything but to install crews', () => {
    const writers = grants({ crews: { install: false } }).filter(({ account, rights }) =>
      rights.some((right) => account !== 'bootstrap' && !/^(get|list) /.test(right)),
    )
    expect(writers).toEqual([])
  })

  it('are not there while rbac.create is false', () => {
    expect(grants({ rbac: { create: false }, crews: { namespaceIsolation: true } })).toEqual([])
  })
})
