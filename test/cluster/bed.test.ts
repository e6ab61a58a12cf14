import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GO_VERSION } from './bed/requirements.ts'
import { words } from './bed/words.ts'
import { remainingRanges } from './stand-ins/networks.ts'
import { filterRules } from './stand-ins/policy-rules.ts'
import type { Cluster, Policy, Pod } from './stand-ins/policy-rules.ts'

test.each([
  ['a command line is its words', words`kubectl get  pods`, ['kubectl', 'get', 'pods']],
  ['a value stays one word', words`echo ${'a b'} c`, ['echo', 'a b', 'c']],
  ['a value joins what it touches', words`--name=${'a b'}/x -v`, ['--name=a b/x', '-v']],
  ['an empty value is a word', words`printf ${''}`, ['printf', '']],
  ['a list is its words', words`ls ${['-l', 'a b']} c`, ['ls', '-l', 'a b', 'c']],
  ['an empty list is none', words`ls ${[]} c`, ['ls', 'c']],
])('%s', (_sentence, found, expected) => {
  expect(found).toEqual(expected)
})

test('the manual and the skip message name the Go that the programs need', () => {
  const programs = join(import.meta.dirname, 'programs')
  const versions = readdirSync(programs).map((name) => {
    const [, minor] =
      /^go 1\.(\d+)/m.exec(readFileSync(join(programs, name, 'go.mod'), 'utf8')) ?? []
    return Number(minor)
  })
  expect(GO_VERSION).toBe(`1.${Math.max(...versions)}`)
  expect(readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')).toContain(
    `Go ${GO_VERSION} `,
  )
})

const named = (name: string, labels: Record<string, string> = {}) => ({
  name,
  namespace: 'one',
  uid: name,
  labels,
})

const pod = (name: string, podIP: string): Pod => ({
  metadata: named(name, { app: name }),
  spec: { containers: [{ ports: [{ name: 'http', containerPort: 3000 }] }] },
  status: { podIP, phase: 'Running' },
})

const clusterWith = (policy: Policy['spec']): Cluster => ({
  pods: [pod('web', '10.0.0.1'), pod('worker', '10.0.0.2')],
  namespaces: [{ metadata: named('one') }],
  policies: [{ metadata: named('policy'), spec: policy }],
})

const rulesOf = (policy: Policy['spec']): readonly string[] =>
  filterRules(clusterWith(policy)).filter((line) => line.startsWith('-A Ingress'))

test('a policy without rules drops everything that goes to its pods', () => {
  expect(rulesOf({ podSelector: { matchLabels: { app: 'web' } } })).toEqual([
    '-A Ingress-10-0-0-1 -j DROP',
  ])
})

test('a rule lets its callers through to the port that it names', () => {
  const rules = rulesOf({
    podSelector: { matchLabels: { app: 'web' } },
    ingress: [
      { from: [{ podSelector: { matchLabels: { app: 'worker' } } }], ports: [{ port: 'http' }] },
    ],
  })
  expect(rules).toEqual([
    '-A Ingress-10-0-0-1 -s 10.0.0.2 -p tcp -m tcp --dport 3000 -j RETURN',
    '-A Ingress-10-0-0-1 -j DROP',
  ])
})

test('a rule without callers and ports lets everything through', () => {
  expect(rulesOf({ podSelector: {}, ingress: [{}] })).toEqual([
    '-A Ingress-10-0-0-1 -j RETURN',
    '-A Ingress-10-0-0-1 -j DROP',
    '-A Ingress-10-0-0-2 -j RETURN',
    '-A Ingress-10-0-0-2 -j DROP',
  ])
})

test.each([
  ['10.0.0.0/30', ['10.0.0.0/31'], ['10.0.0.2/31']],
  ['10.0.0.0/30', ['10.0.0.2/32'], ['10.0.0.0/31', '10.0.0.3/32']],
  ['10.0.0.0/30', ['10.0.1.0/24'], ['10.0.0.0/30']],
  ['10.0.0.0/30', ['0.0.0.0/0'], []],
  ['0.0.0.0/0', ['128.0.0.0/1', '64.0.0.0/2'], ['0.0.0.0/2']],
  ['::/0', [], []],
])('%s without %j is %j', (cidr, except, remaining) => {
  expect(remainingRanges(cidr, except)).toEqual(remaining)
})
