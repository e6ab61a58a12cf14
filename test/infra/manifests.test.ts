import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { contextOf, platformManifests } from '../../infra/render.ts'
import { schema } from '../../infra/values.ts'
import { arbitraryValues } from './support/arbitrary-values.ts'
import { CHECKS } from './support/kubernetes-schema.ts'
import * as overrides from './support/overrides.ts'
import { containersOf, manifests, podsOf, RELEASE, tree } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'
import { restrictedViolations } from './support/pod-security.ts'
import { danglingReferences } from './support/references.ts'
import { sensible } from './support/sensible-values.ts'

const samples: readonly (readonly [string, readonly Manifest[]])[] = [
  ['the defaults', manifests()],
  ...Object.entries(overrides).map(([name, values]) => [name, manifests(values)] as const),
  ...fc
    .sample(
      arbitraryValues(schema).map((random) => sensible(random)),
      { numRuns: 15, seed: 1 },
    )
    .map(
      (values, index) =>
        [
          `random values ${index + 1}`,
          platformManifests(contextOf([values], RELEASE), tree),
        ] as const,
    ),
]

/** What an operator may give, and 1.30 has brought. */
const IS_NEWER = /lifecycle\.(preStop|postStart)\.sleep: unknown field$/

describe.each(samples)('the manifests of %s', (_, objects) => {
  it.each(Object.entries(CHECKS))(
    'are valid for Kubernetes %s, without an unknown, a missing or a wrongly typed field',
    (_version, check) => {
      expect(objects.flatMap(check).filter((fault) => !IS_NEWER.test(fault))).toEqual([])
    },
  )

  it('make pods that pass Pod Security "restricted", all but those of BuildKit (5.4)', () => {
    const pods = podsOf(objects).filter(({ owner }) => owner !== 'Deployment demo-buildkit')
    expect(pods.flatMap(({ owner, pod }) => restrictedViolations(owner, pod))).toEqual([])
  })

  it('have no secret in a variable, no port of SSH, no outdated name of an account', () => {
    for (const { owner, pod } of podsOf(objects)) {
      expect(pod.spec).not.toHaveProperty('serviceAccount')
      const containers = containersOf(pod)
      expect(containers.flatMap(({ ports = [] }) => ports)).not.toContainEqual(
        expect.objectContaining({ containerPort: 22 }),
      )
      // Theirs hold names of Secrets.
      if (/bootstrap|crews/.test(owner)) continue
      const variables: readonly Manifest[] = containers.flatMap(({ env = [] }) => env)
      expect(variables.filter(({ name, value }) => /secret/i.test(name) && value)).toEqual([])
    }
  })

  it('refer only to what is there', () => {
    expect(danglingReferences(objects)).toEqual([])
  })

  it('name nothing twice', () => {
    expectUnique(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    for (const { pod } of podsOf(objects)) {
      const containers = containersOf(pod)
      expectUnique(containers.map(({ name }) => name))
      expectUnique(pod.spec.volumes?.map(({ name }: Manifest) => name) ?? [])
      expectUnique(pod.spec.imagePullSecrets?.map(({ name }: Manifest) => name) ?? [])
      expectUnique(containers.flatMap(({ ports = [] }) => ports.map((port: Manifest) => port.name)))
      expectUnique(listeningPorts(containers))
      for (const { env = [], volumeMounts = [] } of containers) {
        expectUnique(env.map(({ name }: Manifest) => name))
        expectUnique(volumeMounts.map(({ mountPath }: Manifest) => mountPath))
      }
    }
  })

  it('name their namespace: that of the release, or that of the crews', () => {
    const isOfCluster = ({ kind }: Manifest): boolean =>
      /^(Namespace|ClusterRole|ValidatingAdmissionPolicy)/.test(kind)
    const elsewhere = objects.filter(({ metadata }) => metadata.namespace !== RELEASE.namespace)
    for (const { kind, metadata } of elsewhere) {
      if (isOfCluster({ kind })) expect(metadata).not.toHaveProperty('namespace')
      else
        expect(`${kind} ${metadata.name}`).toMatch(
          /^Role(Binding)? demo-crew(s|-health|s-from-source)$/,
        )
    }
  })

  it('give no pod a token for the Kubernetes API but those that call it', () => {
    const withToken = podsOf(objects).filter(({ pod }) => pod.spec.automountServiceAccountToken)
    for (const { owner } of withToken)
      expect(owner).toMatch(/^(Deployment demo-(web|worker)|Job demo-(bootstrap|crews)-.*)$/)
  })
})

describe.each(samples.filter(([name]) => !name.startsWith('random')))(
  'the manifests of %s',
  (_, objects) => {
    it('give every container requests and limits', () => {
      for (const { pod } of podsOf(objects)) {
        for (const { resources } of containersOf(pod)) {
          expect(Object.keys(resources.limits ?? {})).toEqual(['cpu', 'memory'])
          expect(Object.keys(resources.requests ?? {})).toEqual(['cpu', 'memory'])
        }
      }
    })
  },
)

const sortedByKey = (map: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const expectUnique = (names: readonly unknown[]): void => expect(names).toEqual([...new Set(names)])

/** Every port on which a container of the pod listens, the sidecar's included. */
function listeningPorts(containers: readonly Manifest[]): readonly number[] {
  return containers.flatMap(({ ports = [], args = [] }) => [
    ...new Set<number>([
      ...ports.map(({ containerPort }: Manifest) => containerPort),
      ...args.flatMap(
        (arg: string) => /^--(?:http-)?port=(\d+)$/.exec(arg)?.slice(1).map(Number) ?? [],
      ),
    ]),
  ])
}

describe('the identity of the workloads', () => {
  it('never changes: selectors, claims and service names cannot be upgraded', async () => {
    const fixed = manifests()
      .filter(({ kind, spec }) => spec?.selector && kind !== 'PodDisruptionBudget')
      .map(({ kind, metadata, spec }) => ({
        kind,
        name: metadata.name,
        selector: sortedByKey(spec.selector.matchLabels ?? spec.selector),
        ...(spec.serviceName ? { serviceName: spec.serviceName } : {}),
        ...(spec.volumeClaimTemplates
          ? { claims: spec.volumeClaimTemplates.map(({ metadata: { name } }: Manifest) => name) }
          : {}),
      }))
    await expect(`${JSON.stringify(fixed, null, 2)}\n`).toMatchFileSnapshot('golden/identities.txt')
  })

  it('is name, instance and component, and nothing that changes with a version', () => {
    for (const { kind, metadata, spec } of manifests()) {
      if (!['Deployment', 'StatefulSet'].includes(kind)) continue
      expect(spec.selector.matchLabels).toEqual({
        'app.kubernetes.io/name': 'platform',
        'app.kubernetes.io/instance': 'demo',
        'app.kubernetes.io/component': metadata.name.replace('demo-', ''),
      })
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels)
    }
  })
})
