import { BlockList, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkReach } from '../../../../services/platform/crews/crew-reach.ts'
import type { ReachRules } from '../../../../services/platform/crews/crew-reach.ts'
import { isPrivateAddress } from '../../../../services/shared/outgoing/private-addresses.ts'
import type { CrewCluster } from '../../../../services/worker/deployments/kubernetes/cluster-settings.ts'
import { crewNames } from '../../../../services/worker/deployments/kubernetes/crew-names.ts'
import {
  addressesIn,
  crewNetworkPolicy,
  resolveReach,
  withFormer,
} from '../../../../services/worker/deployments/kubernetes/crew-network.ts'
import type { Manifest } from '../../../infra/support/platform.ts'

const PUBLIC_ONLY: ReachRules = { hasPrivateRanges: false, ranges: [], namespaces: [] }
const LISTED: ReachRules = {
  hasPrivateRanges: false,
  ranges: ['10.20.0.0/16', 'fd12::/32', '169.254.0.0/16'],
  namespaces: ['tools'],
}
const PRIVATE_TOO: ReachRules = { hasPrivateRanges: true, ranges: [], namespaces: undefined }

/** What names lead to. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'api.test': ['8.8.8.8', '2606:4700::1111'],
  'api-server.test': ['10.96.0.1'],
  'mixed.test': ['8.8.4.4', '10.20.1.1', '169.254.169.254', '::1'],
  'metadata.test': ['169.254.169.254', 'fd00:ec2::254', '::ffff:169.254.169.254'],
}

const cluster = (reach: ReachRules): CrewCluster => ({
  home: { namespace: 'platform', release: 'platform' },
  pythonImage: 'python',
  pullPolicy: 'IfNotPresent',
  pullSecrets: [],
  hasArbitraryUser: false,
  isGuarded: true,
  reach,
  modelOrigins: [],
  openNamespaces: [],
  webUrl: 'http://platform-web.platform:80',
  maxima: { cpu: '2', memory: '4Gi' },
  proxy: {},
})
const owner = { deploymentId: 7, automationId: 'a-7', organizationId: 3, slug: 'research' }
const names = crewNames({ id: 42, owner }, { namespace: 'crews', home: 'platform' })

interface Opened {
  readonly peers: readonly Manifest[]
  readonly refused: readonly string[]
}

/** Returns what the policy of a crew opens beside the platform, and what is said of the rest. */
async function open(
  listed: readonly string[],
  rules: ReachRules,
  given: readonly string[] = [],
): Promise<Opened> {
  const lookUp = async (host: string) => NAMES[host] ?? []
  const reach = await resolveReach({ listed, given, rules }, lookUp)
  const { spec }: Manifest = crewNetworkPolicy(names, cluster(rules), reach)
  // Names, then web and the collector, then the list.
  return { peers: spec.egress.slice(2).flatMap(({ to }: Manifest) => to), refused: reach.refused }
}

const inWords = ({ ipBlock, namespaceSelector }: Manifest): string =>
  ipBlock?.cidr ?? `namespace ${Object.values(namespaceSelector.matchLabels).join()}`

/** Whether a policy lets one address through. */
function isOpen(peers: readonly Manifest[], address: string): boolean {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  const isIn = (cidr: string): boolean => {
    const [network = '', bits] = cidr.split('/')
    if (isIPv6(network) !== isIPv6(address)) return false
    const list = new BlockList()
    list.addSubnet(network, Number(bits), family)
    return list.check(address, family)
  }
  return peers.some(
    ({ ipBlock }) =>
      ipBlock && isIn(ipBlock.cidr) && !(ipBlock.except ?? []).some((part: string) => isIn(part)),
  )
}

describe('the list of hosts and networks of an automation', () => {
  it.each([
    // What is listed, and what it opens: to the public, with lists of the operator, and with all.
    ['8.8.8.8', ['8.8.8.8/32'], ['8.8.8.8/32'], ['8.8.8.8/32']],
    ['8.8.8.0/24', ['8.8.8.0/24'], ['8.8.8.0/24'], ['8.8.8.0/24']],
    ['10.20.1.1', [], ['10.20.1.1/32'], ['10.20.1.1/32']],
    ['10.0.0.0/8', [], ['10.20.0.0/16'], ['10.0.0.0/8']],
    ['10.96.0.1', [], [], ['10.96.0.1/32']],
    ['8.0.0.0/6', ['8.0.0.0/6'], ['10.20.0.0/16', '8.0.0.0/6'], ['8.0.0.0/6']],
    ['0.0.0.0/0', ['0.0.0.0/0'], ['0.0.0.0/0', '10.20.0.0/16'], ['0.0.0.0/0']],
    ['127.0.0.1', [], [], []],
    ['127.0.0.0/8', [], [], []],
    ['169.254.169.254', [], [], []],
    ['169.254.0.0/16', [], [], []],
    ['0.0.0.0', [], [], []],
    ['224.0.0.1', [], [], []],
    ['168.63.129.16', [], [], []],
    ['100.100.100.200', [], [], []],
    ['2606:4700::1111', ['2606:4700::1111/128'], ['2606:4700::1111/128'], ['2606:4700::1111/128']],
    ['2606:4700::/32', ['2606:4700::/32'], ['2606:4700::/32'], ['2606:4700::/32']],
    ['fd12::1', [], ['fd12::1/128'], ['fd12::1/128']],
    ['fd00::/8', [], ['fd12::/32'], ['fd00::/8']],
    ['::/0', ['::/0'], ['::/0', 'fd12::/32'], ['::/0']],
    ['::1', [], [], []],
    ['fe80::1', [], [], []],
    ['ff02::1', [], [], []],
    ['fd00:ec2::254', [], [], []],
    ['::ffff:8.8.8.8', ['8.8.8.8/32'], ['8.8.8.8/32'], ['8.8.8.8/32']],
    ['::ffff:10.20.1.1', [], ['10.20.1.1/32'], ['10.20.1.1/32']],
    ['::ffff:169.254.169.254', [], [], []],
    ['::ffff:a00:0/104', [], ['10.20.0.0/16'], ['10.0.0.0/8']],
    ['::ffff:0:10.20.1.1', [], [], []],
    ['64:ff9b::8.8.8.8', ...Array<string[]>(3).fill(['64:ff9b::808:808/128'])],
    ['64:ff9b::10.96.0.1', [], [], ['64:ff9b::a60:1/128']],
    ['64:ff9b::169.254.169.254', [], [], []],
    ['2002:a9fe:a9fe::1', [], [], []],
    ['internet', ['0.0.0.0/0', '::/0'], LISTED.ranges, ['0.0.0.0/0', '::/0']],
    ['api.test', ...Array<string[]>(3).fill(['2606:4700::1111/128', '8.8.8.8/32'])],
    ['api-server.test', [], [], ['10.96.0.1/32']],
    ['mixed.test', ['8.8.4.4/32'], ['10.20.1.1/32', '8.8.4.4/32'], ['10.20.1.1/32', '8.8.4.4/32']],
    ['metadata.test', [], [], []],
    ['unknown.test', [], [], []],
    ['search.tools.svc', [], ['namespace tools'], ['namespace tools']],
    ['x.kube-system.svc.cluster.local', [], [], ['namespace kube-system']],
  ] as const)('opens with %s what the operator allows', async (entry, ...expected) => {
    for (const [index, rules] of [PUBLIC_ONLY, LISTED, PRIVATE_TOO].entries()) {
      const { peers, refused } = await open([entry], rules)
      const wanted =
        entry === 'internet' && rules === LISTED
          ? ['0.0.0.0/0', '10.20.0.0/16', '::/0', 'fd12::/32']
          : expected[index]
      expect(peers.map(inWords)).toEqual(wanted)
      expect(isOpen(peers, '169.254.169.254')).toBe(false)
      const isName = NAMES[entry] !== undefined || entry === 'unknown.test'
      const save = () => checkReach([entry], rules)
      // What a name leads to shows only when it is looked up.
      if (isName || peers.length > 0) expect(save).not.toThrow()
      else expect(save).toThrow(entry)
      if (entry !== 'unknown.test' && peers.length === 0) expect(refused[0]).toContain(entry)
    }
  })

  it('says which addresses of a name are shut, and what the operator may set', async () => {
    const { refused } = await open(['mixed.test', 'x.kube-system.svc'], PUBLIC_ONLY)
    expect(refused).toHaveLength(4)
    expect(refused[0]).toContain('mixed.test has the address 10.20.1.1/32')
    expect(refused[0]).toContain('networkPolicy.crewRanges')
    expect(refused[3]).toContain('networkPolicy.crewNamespaces')
  })

  it('leaves hosts open that the operator named, but for those of cloud metadata', async () => {
    const given = ['api-server.test', 'metadata.test', 'model.models.svc']
    const { peers } = await open([], PUBLIC_ONLY, given)
    expect(peers.map(inWords)).toEqual(['10.96.0.1/32', 'namespace models'])
  })

  it('loses addresses that a policy of before had, when they are no longer allowed', async () => {
    const before = await resolveReach(
      { listed: ['api-server.test', 'api.test', '169.254.169.254'], given: [], rules: PRIVATE_TOO },
      async (host) => NAMES[host] ?? [],
    )
    const former = addressesIn(crewNetworkPolicy(names, cluster(PRIVATE_TOO), before))
    const none = await resolveReach({ listed: [], given: [], rules: PUBLIC_ONLY }, async () => [])
    const { spec }: Manifest = crewNetworkPolicy(
      names,
      cluster(PUBLIC_ONLY),
      withFormer(none, former, PUBLIC_ONLY),
    )
    expect(spec.egress.at(-1).to.map(inWords)).toEqual(['2606:4700::1111/128', '8.8.8.8/32'])
  })

  const octets = (count: number) =>
    fc.array(fc.integer({ min: 0, max: 255 }), { minLength: count, maxLength: count })
  /** Near the borders of special ranges as often as anywhere. */
  const v4 = fc.oneof(
    octets(4).map((parts) => parts.join('.')),
    fc
      .tuple(
        fc.constantFrom(0, 9, 10, 11, 100, 127, 128, 168, 169, 172, 192, 198, 203, 223, 224, 240),
        fc.constantFrom(0, 1, 15, 16, 20, 31, 32, 63, 64, 100, 127, 128, 168, 254, 255),
        fc.constantFrom(0, 1, 2, 88, 99, 100, 113, 129, 169, 255),
        fc.constantFrom(0, 1, 16, 200, 254, 255),
      )
      .map((parts) => parts.join('.')),
  )
  const v6 = fc.oneof(
    fc.ipV6().filter((text) => !text.includes('.')),
    fc
      .tuple(
        fc.constantFrom('::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::', 'fd00:ec2::'),
        fc.oneof(v4, fc.constantFrom('1', '254')),
      )
      .map((parts) => parts.join('')),
    fc.constantFrom(
      'fe80::1',
      'fec0::1',
      'ff02::1',
      'fc00::1',
      'fd12::9',
      '2002:a9fe:a9fe::1',
      '2001:db8::1',
    ),
  )
  const range = fc.oneof(
    fc.tuple(v4, fc.integer({ min: 0, max: 32 })).map((parts) => parts.join('/')),
    fc.tuple(v6, fc.integer({ min: 0, max: 128 })).map((parts) => parts.join('/')),
  )

  it('never opens an address that the operator does not allow', async () => {
    const rules = fc.record({
      hasPrivateRanges: fc.boolean(),
      ranges: fc.array(range, { maxLength: 3 }),
      namespaces: fc.constant([]),
    })
    const entries = fc.array(fc.oneof(range, v4, v6, fc.constant('internet')), { maxLength: 5 })
    const probes = fc.array(fc.oneof(v4, v6), { minLength: 20, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(rules, entries, probes, async (given, listed, asked) => {
        const { peers } = await open(listed, given)
        // The borders of what is open are asked as well.
        const borders = peers.flatMap(({ ipBlock }) => [ipBlock.cidr, ...(ipBlock.except ?? [])])
        for (const address of [...asked, ...borders.map((cidr) => cidr.split('/')[0])]) {
          if (isOpen(peers, address))
            expect([address, isAllowed(address, given)]).toEqual([address, true])
        }
      }),
    )
  })

  /** The rule, in other words than those of the program. */
  function isAllowed(address: string, { hasPrivateRanges, ranges }: ReachRules): boolean {
    const meant = address.startsWith('64:ff9b::') ? fromNat64(address) : address
    const never = [
      '0.0.0.0/8',
      '127.0.0.0/8',
      '169.254.0.0/16',
      '224.0.0.0/4',
      '240.0.0.0/4',
      '100.100.100.200/32',
      '168.63.129.16/32',
      '192.0.0.192/32',
      '::/16',
      '2002::/16',
      'fe80::/10',
      'ff00::/8',
      'fd00:ec2::254/128',
      'fd20:ce::254/128',
    ]
    const isAmong = (list: readonly string[]): boolean =>
      isOpen(
        list.map((cidr) => ({ ipBlock: { cidr } })),
        address,
      ) ||
      isOpen(
        list.map((cidr) => ({ ipBlock: { cidr } })),
        meant,
      )
    return (
      !isAmong(never) &&
      (hasPrivateRanges || !isPrivateAddress(meant) || isAmong(ranges.map(plain)))
    )
  }

  /** IPv4 within IPv6 as IPv4. */
  function plain(cidr: string): string {
    const [network = '', bits] = cidr.split('/')
    const host = isIPv6(network) ? new URL(`http://[${network}]`).hostname.slice(1, -1) : ''
    const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(host) ?? []
    return high === undefined || low === undefined || Number(bits) < 96
      ? cidr
      : `${toV4(high, low)}/${Number(bits) - 96}`
  }

  const toV4 = (high: string, low: string): string =>
    [Number.parseInt(high, 16), Number.parseInt(low, 16)]
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')

  function fromNat64(address: string): string {
    const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')[1] ?? ''
    const [low = '0', high = '0'] = groups.split(':').toReversed()
    return toV4(high || '0', low || '0')
  }
})
