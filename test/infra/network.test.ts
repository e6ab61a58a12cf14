import { describe, expect, it } from 'vitest'
import { outsidePeers } from '../../services/shared/kubernetes/network-peers.ts'
import { addressOf, calls, isProgram, programNames } from '../../infra/calls.ts'
import type { ValuesOverrides } from '../../infra/values.ts'
import { contextOf } from '../../infra/render.ts'
import { chartTestPod, containersOf, find, manifests, podsOf, RELEASE } from './support/platform.ts'
import type { Manifest } from './support/platform.ts'

/** The calls between programs of the release, as they are declared. */
const DECLARED = calls
  .filter(({ from, to }) => isProgram(from) && isProgram(to))
  .map(({ from, to, port }) => `${from} → ${to}:${port}`)
  .toSorted()

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

/** True when the policies let one call through, on both of its sides. */
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
  return programNames
    .flatMap((from) =>
      targets
        .filter((target) => target.to !== from && isAllowed(policies, { from, ...target }))
        .map(({ to, port }) => `${from} → ${to}:${port.name}`),
    )
    .toSorted()
}

const PLURAL: ReadonlySet<string> = new Set([
  'visitors',
  'browsers',
  'senders',
  'own-crews',
  'builds',
  'nodes',
])

/** Every call in words: who makes it, for what, and where it arrives. */
const IN_WORDS = `
visitors call web on http: pages, the automation API, tools of crews
buildkit calls web on http: tools of crews
configuration calls web on http: settings as documents
monitoring calls web on metrics: metrics
web calls oauth on http: connections to third-party providers
worker calls oauth on http: tokens for the tools of runs
browsers call oauth on http: consent
monitoring calls oauth on metrics: metrics
web calls collector on http: the spans of calls, and its health
worker calls collector on http: the spans of runs
senders call collector on http: their spans
senders call collector on grpc: their spans
own-crews call collector on http: spans of their programs
monitoring calls collector on metrics: metrics
monitoring calls worker on http: metrics
scaler calls worker on http: the length of the queue
web calls postgres on postgres: the main database
worker calls postgres on postgres: the queue of runs
setup calls postgres on postgres: what every installation has
configuration calls postgres on postgres: a token for itself
crews calls postgres on postgres: the platform's own crews
bootstrap calls postgres on postgres: which keys it is sealed with
backup calls postgres on postgres: copies of both databases
oauth calls postgres on postgres: encrypted tokens
collector calls postgres on postgres: the trace database
archive calls postgres on postgres: days of traces that become files
builds call buildkit on grpc: images of crews from source
worker calls buildkit on grpc: whether it answers, for the diagnostic report
worker calls internal-registry on http: images of crews
buildkit calls internal-registry on http: pushes of built images
nodes call internal-registry on http: pulls of crew images
worker calls crew-pods on http: kickoffs of runs
web calls crew-pods on http: the status of crews
`

/**
 * The texts that tell a pod where others are: arguments, variables, and files of its ConfigMaps.
 */
function textsOf(pod: Manifest, objects: readonly Manifest[]): readonly string[] {
  const maps = (pod.spec.volumes ?? []).flatMap(({ configMap }: Manifest) =>
    configMap ? objects.filter(({ metadata }) => metadata.name === configMap.name) : [],
  )
  return [
    ...containersOf(pod).flatMap(({ args = [], command = [], env = [] }) => [
      ...args,
      ...command,
      ...env.map(({ name, value }: Manifest) => `${name}=${value}`),
    ]),
    ...maps.flatMap(({ data = {} }: Manifest) => Object.values<string>(data)),
  ]
}

/**
 * The programs that a text gives an address of: a host with its port, or the value of a `…HOST`.
 */
const addressedIn = (text: string): readonly string[] =>
  programNames.filter((name) => new RegExp(`HOST=demo-${name}$|\\bdemo-${name}:\\d`).test(text))

function addressedCalls(objects: readonly Manifest[]): readonly string[] {
  const found = podsOf(objects).flatMap(({ pod }) =>
    textsOf(pod, objects)
      .flatMap(addressedIn)
      .map((to) => `${pod.metadata.labels['app.kubernetes.io/component']} → ${to}`),
  )
  return [...new Set(found)].toSorted()
}

/**
 * Web is the front door: while nothing is said of an ingress controller, everybody may call it. So
 * may nodes the registry, at addresses that no policy knows; both ask for credentials.
 */
const behindTheDoor = (calls: readonly string[]): readonly string[] =>
  calls.filter((call) => !/→ (web|internal-registry):/.test(call))

describe('the calls', () => {
  it('are those that the platform makes', () => {
    const inWords = calls.map(({ from, to, port, why }) => {
      const verb = PLURAL.has(from) ? 'call' : 'calls'
      return `${from} ${verb} ${to} on ${port}: ${why}`
    })
    expect(inWords).toEqual(IN_WORDS.trim().split('\n'))
  })

  it('are declared wherever a manifest gives a program the address of another one', () => {
    const declared: readonly string[] = calls.map(({ from, to }) => `${from} → ${to}`)
    const addressed = addressedCalls(manifests())
    expect(addressed).toEqual(
      expect.arrayContaining([
        'buildkit → internal-registry',
        'collector → postgres',
        'setup → postgres',
        'web → collector',
        'web → oauth',
        'worker → collector',
      ]),
    )
    expect(addressed.filter((call) => !declared.includes(call))).toEqual([])
  })

  it('have an address only where they are declared (the compiler refuses any other)', () => {
    expect(addressOf({ from: 'web', to: 'collector' })).toBeDefined()
    // @ts-expect-error web does not call the registry
    expect(addressOf({ from: 'web', to: 'internal-registry' })).toBeDefined()
  })

  it('arrive at ports that the programs open', () => {
    const ports = new Map(
      podsOf(manifests({ collector: { grpc: { enabled: true } } })).map(({ pod }) => [
        pod.metadata.labels['app.kubernetes.io/component'],
        containersOf(pod).flatMap(({ ports: open = [] }) => open.map(({ name }: Manifest) => name)),
      ]),
    )
    for (const { to, port } of calls) {
      if (isProgram(to)) expect(ports.get(to), to).toContain(port)
    }
  })
})

const OPTIONAL = {
  backup: { enabled: true, passphraseSecret: 'passphrase' },
  configuration: { existingConfigMap: 'settings' },
  collector: { archive: { enabled: true, existingClaim: 'archive' } },
}

describe('the network policies', () => {
  it('let exactly the calls through that are declared', () => {
    expect(behindTheDoor(allowedCalls(OPTIONAL))).toEqual(behindTheDoor(DECLARED))
  })

  it('forget the calls of what is not there', () => {
    const overrides = { ...OPTIONAL, oauth: { enabled: false }, buildkit: { enabled: false } }
    expect(behindTheDoor(allowedCalls(overrides))).toEqual(
      behindTheDoor(DECLARED).filter((call) => !/oauth|buildkit/.test(call)),
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
    for (const { to, port } of calls.filter(({ from }) => from === 'monitoring')) {
      const { ingress } = find(objects, 'NetworkPolicy', to).spec
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

  it('close web but for the ingress controller, crews and `helm test`, when it is named', () => {
    const objects = manifests({
      networkPolicy: { ingressNamespace: 'ingress' },
      crews: { namespace: 'crews' },
    })
    const [, fromOutside] = find(objects, 'NetworkPolicy', 'web').spec.ingress
    const names = fromOutside.from.map(
      ({ namespaceSelector, podSelector }: Manifest) =>
        namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] ?? podSelector.matchLabels,
    )
    const context = contextOf([{}], RELEASE)
    expect(names).toEqual(['ingress', 'crews', labelsOf('test')])
    expect(chartTestPod(context).metadata.labels).toMatchObject(labelsOf('test'))
  })

  it('open oauth to browsers only when it has a host', () => {
    const rules = (overrides: ValuesOverrides): number =>
      find(manifests(overrides), 'NetworkPolicy', 'oauth').spec.ingress.length
    expect(rules({})).toBe(2)
    expect(rules({ ingress: { enabled: true, oauthHost: 'oauth.example.com' } })).toBe(3)
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

  it('keep builds from private addresses but for those that the operator opens', () => {
    const egress = (overrides: ValuesOverrides): readonly Manifest[] =>
      find(manifests(overrides), 'NetworkPolicy', 'builds').spec.egress
    const outside = egress({}).at(-1)
    expect(outside).toEqual({ to: outsidePeers(false) })
    const open = egress({ buildkit: { openRanges: ['10.20.0.0/16'] } }).at(-1)
    expect(open?.to).toEqual([...outsidePeers(false), { ipBlock: { cidr: '10.20.0.0/16' } }])
    expect(egress({}).slice(1, -1)).toEqual(
      ['web', 'internal-registry'].map((to) => ({
        to: [{ podSelector: { matchLabels: labelsOf(to) } }],
        ports: [{ protocol: 'TCP', port: 'http' }],
      })),
    )
    const names = find(manifests(), 'NetworkPolicy', 'outbound').spec.podSelector.matchExpressions
    expect(names[0].values).not.toContain('buildkit')
  })

  it('are not there while they are switched off', () => {
    const objects = manifests({ networkPolicy: { enabled: false } })
    expect(objects.filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
  })
})
