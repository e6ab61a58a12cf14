import { describe, expect, it } from 'vitest'
import type { ValuesOverrides } from '../../infra/values.ts'
import { containersOf, find, manifests, podsOf } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

const COMPONENTS = [
  'web',
  'worker',
  'oauth',
  'collector',
  'postgres',
  'buildkit',
  'internal-registry',
  'setup',
  'crews',
  'bootstrap',
]

/** Who calls whom, and on which port: what the programs do, written down by hand. */
const CALLS = [
  'collector → postgres:postgres',
  'crews → postgres:postgres',
  'oauth → postgres:postgres',
  'setup → postgres:postgres',
  'web → collector:http',
  'web → oauth:http',
  'web → postgres:postgres',
  'worker → buildkit:grpc',
  'worker → collector:http',
  'worker → internal-registry:http',
  'worker → postgres:postgres',
  'buildkit → internal-registry:http',
]

const labelsOf = (component: string): Readonly<Record<string, string>> => ({
  'app.kubernetes.io/name': 'platform',
  'app.kubernetes.io/instance': 'demo',
  'app.kubernetes.io/component': component,
})

function selects(selector: Manifest, labels: Readonly<Record<string, string>>): boolean {
  const fixed = Object.entries(selector.matchLabels ?? {}).every(
    ([key, value]) => labels[key] === value,
  )
  const listed = (selector.matchExpressions ?? []).every(
    ({ key, operator, values }: Manifest) => operator === 'In' && values.includes(labels[key]),
  )
  return fixed && listed
}

const allows = (peers: readonly Manifest[] | undefined, component: string): boolean =>
  peers === undefined ||
  peers.some(
    ({ podSelector, namespaceSelector }) =>
      podSelector && !namespaceSelector && selects(podSelector, labelsOf(component)),
  )

interface Call {
  readonly from: string
  readonly to: string
  readonly port: { readonly name: string; readonly number: number }
}

/** Whether the policies let one call through, on both of its sides. */
function isAllowed(policies: readonly Manifest[], { from, to, port }: Call): boolean {
  const rules = (component: string, direction: 'ingress' | 'egress'): readonly Manifest[] =>
    policies
      .filter(({ spec }) => selects(spec.podSelector, labelsOf(component)))
      .flatMap(({ spec }) => spec[direction] ?? [])
  const isPort = ({ ports }: Manifest): boolean =>
    !ports || ports.some((one: Manifest) => [port.name, port.number].includes(one.port))
  return (
    rules(to, 'ingress').some((rule) => isPort(rule) && allows(rule.from, from)) &&
    rules(from, 'egress').some((rule) => isPort(rule) && allows(rule.to, to))
  )
}

function allowedCalls(overrides: ValuesOverrides): readonly string[] {
  const objects = manifests(overrides)
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy')
  const targets = podsOf(objects).flatMap(({ pod }) =>
    containersOf(pod).flatMap(({ ports = [] }) =>
      ports.map((port: Manifest) => ({
        to: pod.metadata.labels['app.kubernetes.io/component'],
        port: { name: port.name, number: port.containerPort },
      })),
    ),
  )
  return COMPONENTS.flatMap((from) =>
    targets
      .filter((target) => target.to !== from && isAllowed(policies, { from, ...target }))
      .map(({ to, port }) => `${from} → ${to}:${port.name}`),
  ).toSorted()
}

/** Web is the front door: while nothing is said of an ingress controller, everybody may call it. */
const behindTheDoor = (calls: readonly string[]): readonly string[] =>
  calls.filter((call) => !call.includes('→ web:'))

describe('the network policies', () => {
  it('let exactly the calls through that the programs make', () => {
    expect(behindTheDoor(allowedCalls({}))).toEqual(CALLS.toSorted())
  })

  it('forget the calls of what is not there', () => {
    const overrides = { oauth: { enabled: false }, buildkit: { enabled: false } }
    expect(behindTheDoor(allowedCalls(overrides))).toEqual(
      CALLS.filter((call) => !/oauth|buildkit/.test(call)).toSorted(),
    )
  })

  it('deny whatever no other policy allows, to every pod of the release and of no other', () => {
    const { spec } = find(manifests(), 'NetworkPolicy', 'default-deny')
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress'])
    expect(spec).not.toHaveProperty('ingress')
    expect(spec).not.toHaveProperty('egress')
    for (const { pod } of podsOf(manifests())) {
      expect(selects(spec.podSelector, pod.metadata.labels)).toBe(true)
    }
    expect(
      selects(spec.podSelector, { ...labelsOf('web'), 'app.kubernetes.io/instance': 'other' }),
    ).toBe(false)
  })

  it('let metrics be read from the namespace of the monitoring alone (4.6)', () => {
    const objects = manifests({ networkPolicy: { monitoringNamespace: 'observability' } })
    for (const [name, port] of [
      ['collector', 'metrics'],
      ['web', 'metrics'],
      ['worker', 'http'],
    ]) {
      const { ingress } = find(objects, 'NetworkPolicy', name ?? '').spec
      const rule = ingress.find(({ ports }: Manifest) => ports[0].port === port)
      expect(rule.from).toEqual([
        {
          namespaceSelector: {
            matchLabels: { 'kubernetes.io/metadata.name': 'observability' },
          },
        },
      ])
    }
  })

  it('close the front door but for the ingress controller and the crews, when it is named', () => {
    const objects = manifests({
      networkPolicy: { ingressNamespace: 'ingress' },
      crews: { namespace: 'crews' },
    })
    const names = find(objects, 'NetworkPolicy', 'web').spec.ingress[0].from.map(
      ({ namespaceSelector }: Manifest) =>
        namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? 'its own',
    )
    expect(names).toEqual(['ingress', 'crews'])
  })

  it('open oauth to browsers only when it has a host', () => {
    const rules = (overrides: ValuesOverrides): number =>
      find(manifests(overrides), 'NetworkPolicy', 'oauth').spec.ingress.length
    expect(rules({})).toBe(1)
    expect(rules({ ingress: { enabled: true, oauthHost: 'oauth.example.com' } })).toBe(2)
  })

  it('keep collector and set-up from everything but names and their database', () => {
    const egress = (overrides: ValuesOverrides): readonly Manifest[] =>
      find(manifests(overrides), 'NetworkPolicy', 'database').spec.egress
    const external = {
      postgres: { enabled: false },
      envVars: { DB_HOST: 'db.example.com', DB_PORT: 6543 },
      secrets: { DB_PASSWORD: 'x' },
    }
    expect(egress({})).toHaveLength(2)
    expect(egress(external)[1]).toEqual({ ports: [{ protocol: 'TCP', port: 6543 }] })
    const proxied = { ...external, dbProxy: { enabled: true, instanceConnectionName: 'a:b:c' } }
    expect(egress(proxied)[1]).toEqual({})
  })

  it('are not there while they are switched off', () => {
    const objects = manifests({ networkPolicy: { enabled: false } })
    expect(objects.filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
  })
})
