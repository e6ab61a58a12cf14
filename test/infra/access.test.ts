import { describe, expect, it } from 'vitest'
import type { ValuesOverrides } from '../../infra/values.ts'
import { manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

/** Every call to the Kubernetes API that the programs make: what `services/**` asks of `shared/kubernetes.ts`. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  web: ['get apps/deployments', 'list apps/deployments'],
  bootstrap: [
    'get /secrets demo-secrets',
    'patch /secrets demo-secrets',
    'get /secrets demo-secrets-overrides',
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

  const ofWeb = (overrides: ValuesOverrides): readonly (readonly [string, readonly string[]])[] =>
    grants(overrides)
      .filter(({ account }) => account === 'web')
      .map(({ namespace, rights }) => [namespace, rights])

  it('let the probe read the crews where they run: in the namespace of the release', () => {
    expect(ofWeb({})).toEqual([['', CALLS['web']]])
  })

  it('in a namespace of their own', () => {
    expect(ofWeb({ crews: { namespace: 'crews' } })).toEqual([
      ['', CALLS['web']],
      ['crews', CALLS['web']],
    ])
    const { subjects } = manifests({ crews: { namespace: 'crews' } }).find(
      ({ kind, metadata }) => kind === 'RoleBinding' && metadata.namespace === 'crews',
    )
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name: 'demo-web', namespace: 'prod' }])
  })

  it('or in one for each organization, which only the whole cluster covers (7, k8s_namespace_isolation)', () => {
    expect(ofWeb({ crews: { namespace: 'crews', namespaceIsolation: true } })).toEqual([
      ['', CALLS['web']],
      ['*', CALLS['web']],
    ])
  })

  it('are not there while rbac.create is false', () => {
    expect(grants({ rbac: { create: false }, crews: { namespaceIsolation: true } })).toEqual([])
  })
})
