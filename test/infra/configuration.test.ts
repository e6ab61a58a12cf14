import { describe, expect, it } from 'vitest'
import { contextOf, platformFiles } from '../../infra/render.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { readDocuments } from '../../services/tasks/resources/documents.ts'
import {
  chartStream,
  find,
  manifests,
  podsOf,
  RELEASE,
  tree,
  validationOf,
} from './support/platform.ts'
import type { Manifest } from './support/platform.ts'
import { restrictedViolations } from './support/pod-security.ts'
import { expectSameObjects } from './support/same-objects.ts'

const document = {
  kind: 'llm_connection',
  name: 'Team <gateway> & {{ .Values.image }}',
  spec: {
    provider: 'openai',
    model: 'gpt-5.4-mini',
    api_key: { env: 'MODEL_KEY' },
    lines: 'two\nlines\u2028',
    nothing: [],
    none: {},
    many: [1, 0.5, 1_000_000, true, '~', { '10': 'a', '9': 'b' }],
  },
}
const given: ValuesOverrides = {
  configuration: {
    resources: [document, { kind: 'webhook', name: 'https://crm.example.com', parent: 'news' }],
    existingConfigMap: 'settings',
    secrets: [{ name: 'model-keys' }, { name: 'hooks' }],
    prune: true,
  },
}
const only = (configuration: NonNullable<ValuesOverrides['configuration']>) => ({ configuration })

const jobOf = (overrides: ValuesOverrides): Manifest =>
  manifests(overrides).find(
    ({ kind, metadata }) => kind === 'Job' && metadata.name.startsWith('demo-configuration-'),
  )
const containerOf = (overrides: ValuesOverrides): Manifest =>
  jobOf(overrides).spec.template.spec.containers[0]

describe('the configuration', () => {
  it('leaves nothing behind while there is none', () => {
    const left = manifests().filter(({ metadata }) => metadata.name.includes('configuration'))
    expect(left).toEqual([])
    expect(JSON.stringify(manifests())).not.toContain('"configuration"')
  })

  it('is a ConfigMap that the task reads, a member a line', () => {
    const { data } = find(manifests(given), 'ConfigMap', 'configuration')
    const text: string = data['resources.json']
    expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(given.configuration?.resources)))
    const { documents, problems } = readDocuments([{ path: 'resources.json', text }])
    expect(problems).toEqual([])
    expect(documents.map(({ name, at }) => [name, at('spec', 'model').line])).toEqual([
      [document.name, 21],
      ['https://crm.example.com', 27],
    ])
  })

  it('is applied by a Job, with files of both ConfigMaps and nothing of its own', () => {
    const job = jobOf(given)
    const { spec } = job.spec.template
    expect(job.metadata.annotations['argocd.argoproj.io/hook']).toBe('Sync')
    expect(job.spec.backoffLimit).toBe(10)
    const [values, own] = ['values', 'own'].map((name) => `/etc/platform/configuration/${name}`)
    expect(containerOf(given)).toMatchObject({
      command: ['node', 'build/tasks/main.js'],
      args: ['configure', values, own, '--prune'],
      volumeMounts: [
        { name: 'values', mountPath: values, readOnly: true },
        { name: 'own', mountPath: own, readOnly: true },
      ],
    })
    expect(spec.volumes).toEqual([
      { name: 'values', configMap: { name: 'demo-configuration' } },
      { name: 'own', configMap: { name: 'settings' } },
    ])
    expect(spec.automountServiceAccountToken).toBe(false)
    const { pod } = podsOf([job])[0] ?? {}
    expect(restrictedViolations('configuration', pod)).toEqual([])
  })

  it('has what is given of it alone', () => {
    const values = only({ resources: [document] })
    const own = only({ existingConfigMap: 'settings' })
    expect(containerOf(values).args).toEqual(['configure', '/etc/platform/configuration/values'])
    expect(containerOf(own).args).toEqual(['configure', '/etc/platform/configuration/own'])
    expect(find(manifests(own), 'ConfigMap', 'configuration')).toBeUndefined()
    expect(containerOf(own)).not.toHaveProperty('envFrom')
  })

  it('calls web of its own version, and reads Secrets under a prefix of their own', () => {
    const { env, envFrom } = containerOf({ ...given, image: { tag: '1.14.2' } })
    expect(env).toEqual(
      expect.arrayContaining([
        { name: 'PLATFORM_URL', value: 'http://demo-web:80' },
        { name: 'PLATFORM_VERSION', value: '1.14.2' },
      ]),
    )
    expect(envFrom).toEqual(
      ['model-keys', 'hooks'].map((name) => ({
        prefix: 'CONFIGURATION_SECRET_',
        secretRef: { name },
      })),
    )
  })

  it('runs again when a document changes, under another name, and only then', () => {
    const names = [
      given,
      only({ ...given.configuration, resources: [{ ...document, name: 'Other' }] }),
      only({ ...given.configuration, secrets: [] }),
      { ...given, worker: { replicaCount: 2 } },
    ].map((overrides) => jobOf(overrides).metadata.name)
    expect(new Set(names).size).toBe(3)
    expect(names[3]).toBe(names[0])
    expect(names[0]).toMatch(/^demo-configuration-1-[0-9a-f]{8}$/)
  })

  it.each([
    ['both', given],
    ['a ConfigMap of the operator', only({ existingConfigMap: 'settings' })],
    ['documents', { ...only({ resources: [document] }), networkPolicy: { enabled: false } }],
  ])('is the same in the chart, with %s', (_, overrides) => {
    const context = contextOf([overrides], RELEASE)
    const files = platformFiles(contextOf([overrides], RELEASE), tree)
    expectSameObjects(chartStream(context), [...files.values()].join('---\n'))
    expect(validationOf(context).trim()).toBe('')
  })

  it('reaches web, the database and names, and no pod reaches it', () => {
    const policies = manifests(given).filter(({ kind }) => kind === 'NetworkPolicy')
    const { spec } = find(policies, 'NetworkPolicy', 'configuration')
    expect(spec.policyTypes).toEqual(['Egress'])
    const reached = spec.egress.map(({ to, ports }: Manifest) => [
      to[0].podSelector.matchLabels['app.kubernetes.io/component'],
      ports[0].port,
    ])
    expect(reached).toEqual([
      ['web', 'http'],
      ['postgres', 'postgres'],
    ])
    const [open] = ['outbound', 'database'].map(
      (name) => find(policies, 'NetworkPolicy', name).spec.podSelector.matchExpressions[0].values,
    )
    expect(open).not.toContain('configuration')
    const [fromInside] = find(policies, 'NetworkPolicy', 'web').spec.ingress
    expect(JSON.stringify(fromInside.from)).toContain('"configuration"')
    expect(JSON.stringify(find(manifests(), 'NetworkPolicy', 'web'))).not.toContain(
      '"configuration"',
    )
  })

  it.each<[unknown, string]>([
    [[{ name: 'a' }], 'configuration.resources[0].kind: is required: expected a kind such as'],
    [[document, { kind: 'webhook' }], 'configuration.resources[1].name: is required: expected the'],
    [[{ ...document, name: 5 }], 'configuration.resources[0].name: got 5'],
    [[{ ...document, name: 'two\nlines' }], 'configuration.resources[0].name: got'],
    [[{ ...document, kind: 'LLM Connection' }], 'configuration.resources[0].kind: got'],
    [['text'], 'configuration.resources[0]: expected a map, got "text"'],
    [{ kind: 'webhook' }, 'configuration.resources: expected a list'],
    [[{ ...document, spec: { a: null } }], 'configuration.resources[0].spec.a: expected a text'],
    [
      [{ ...document, spec: { a: '\u0007' } }],
      'configuration.resources[0].spec.a: expected a text',
    ],
  ])('refuses documents such as %j', (resources, message) => {
    const overrides = { configuration: { resources } }
    expect(() => contextOf([overrides], RELEASE)).toThrow(message)
  })

  it.each([
    [{ existingConfigMap: 'a..b' }, 'configuration.existingConfigMap'],
    [{ secrets: [{}] }, 'configuration.secrets[0].name'],
    [{ secrets: ['model-keys'] }, 'configuration.secrets[0]'],
    [{ prune: 'yes' }, 'configuration.prune'],
    [{ resource: [] }, 'configuration.resource: unknown key; did you mean resources?'],
  ])('refuses %j', (configuration, message) => {
    expect(() => contextOf([{ configuration }], RELEASE)).toThrow(message)
  })
})
