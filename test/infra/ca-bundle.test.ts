import { describe, expect, it } from 'vitest'
import { externalPostgres } from '../../infra/overrides/external-postgres.ts'
import { iamProxy } from '../../infra/overrides/iam-proxy.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { containersOf, manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const FILE = '/etc/platform/ca/ca.crt'

const variables = ({ env = [] }: Manifest): Readonly<Record<string, string>> =>
  Object.fromEntries(env.map(({ name, value }: Manifest) => [name, value]))

/** The containers that run a program of ours, with the pod that they are in. */
const ownPrograms = (overrides: ValuesOverrides): readonly Manifest[] =>
  podsOf(manifests(overrides)).flatMap(({ owner, pod }) =>
    containersOf(pod)
      .filter(({ command = [] }: Manifest) => command[0] === 'node')
      .map((container: Manifest) => ({ owner, pod, container })),
  )

describe('global.caBundle', () => {
  it('is trusted by every program of ours, init containers and Jobs among them', () => {
    const programs = ownPrograms({
      global: { caBundle: { secret: 'company-ca', key: 'root.pem' } },
    })
    const names: readonly string[] = programs.map(({ container }) => container.name)
    expect(names.toSorted()).toEqual(
      [
        'web',
        'worker',
        'oauth',
        'collector',
        'gate',
        'migrate',
        'migrate',
        'migrate',
        'migrate',
        'setup',
        'bootstrap',
        'assistant',
        'runner',
      ].toSorted(),
    )
    for (const { pod, container } of programs) {
      expect(variables(container)['NODE_EXTRA_CA_CERTS']).toBe(FILE)
      expect(container.volumeMounts).toContainEqual({
        name: 'ca-bundle',
        mountPath: '/etc/platform/ca',
        readOnly: true,
      })
      expect(pod.spec.volumes).toContainEqual({
        name: 'ca-bundle',
        secret: { secretName: 'company-ca', items: [{ key: 'root.pem', path: 'ca.crt' }] },
      })
    }
  })

  it('comes from a ConfigMap just as well, as in the example of an external PostgreSQL', () => {
    for (const { pod, container } of ownPrograms(externalPostgres)) {
      expect(variables(container)['NODE_EXTRA_CA_CERTS']).toBe(FILE)
      expect(pod.spec.volumes).toContainEqual({
        name: 'ca-bundle',
        configMap: { name: 'company-ca', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
      })
    }
  })

  it('goes on to the crews, whose pods run elsewhere', () => {
    const crewFile = (overrides: ValuesOverrides): readonly (string | undefined)[] =>
      ownPrograms(overrides)
        .filter(({ owner }) => owner.startsWith('Job demo-crews-'))
        .map(({ container }) => variables(container)['CREW_CA_FILE'])
    expect(crewFile({ global: { caBundle: { secret: 'company-ca' } } })).toEqual([FILE, FILE])
    expect(crewFile({})).toEqual([undefined, undefined])
  })

  it('goes on to the crews from source, which the worker makes', () => {
    const crewFile = (overrides: ValuesOverrides): readonly (string | undefined)[] =>
      ownPrograms(overrides)
        .filter(({ container }) => container.name === 'worker')
        .map(({ container }) => variables(container)['CREW_CA_FILE'])
    const global = { caBundle: { secret: 'company-ca' } }
    expect(crewFile({ global, crews: { fromSource: true } })).toEqual([FILE])
    expect(crewFile({ global, crews: { fromSource: false } })).toEqual([undefined])
  })

  it('is trusted by programs of others that call addresses outside, beside their own', () => {
    const others = podsOf(
      manifests({
        ...iamProxy,
        global: { caBundle: { secret: 'company-ca' } },
        buildkit: { enabled: true },
      }),
    ).flatMap(({ pod }) =>
      containersOf(pod).filter(({ name }) => name === 'db-proxy' || name === 'buildkitd'),
    )
    expect(new Set(others.map(({ name }) => name))).toEqual(new Set(['db-proxy', 'buildkitd']))
    for (const container of others) {
      expect(variables(container)['SSL_CERT_DIR']).toBe('/etc/platform/ca')
      expect(container.volumeMounts).toContainEqual({
        name: 'ca-bundle',
        mountPath: '/etc/platform/ca',
        readOnly: true,
      })
    }
  })

  it('is one or the other', () => {
    expect(() => manifests({ global: { caBundle: { secret: 'a', configMap: 'b' } } })).toThrow(
      'global.caBundle.secret and global.caBundle.configMap exclude each other',
    )
  })
})
