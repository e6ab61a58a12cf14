import { isWithin, rangeText, readRange, translated } from '../outgoing/address-ranges.ts'
import type { AddressBlock, AddressRange } from '../outgoing/address-ranges.ts'

/** Raises a `TypeError` for a text that is no range. */
function rangeOf(text: string): AddressRange {
  const range = readRange(text)
  if (range === undefined) throw new TypeError(`${text} is no range of addresses`)
  return range
}

/** Where NAT64 has the addresses of IPv4. */
const NAT64 = rangeOf('64:ff9b::/96')
const withNat64 = (ranges: readonly string[]): readonly AddressRange[] =>
  ranges
    .map(rangeOf)
    .flatMap((range) => (range.version === 4 ? [range, translated(range, NAT64)] : [range]))

/**
 * What no operator can open: loopback, link-local and multicast addresses, those at which clouds
 * hand out the identity of a node, and ranges of IPv6 that stand for ones of IPv4.
 */
const NEVER = withNat64([
  '0.0.0.0/8',
  '100.100.100.200/32',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.192/32',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/16',
  '2002::/16',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  'fe80::/10',
  'ff00::/8',
])
/** All else that is not on the public Internet: private networks, and those of most clusters. */
const PRIVATE = withNat64([
  '10.0.0.0/8',
  '100.64.0.0/10',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fec0::/10',
])
const EVERYTHING = ['0.0.0.0/0', '::/0'].map(rangeOf)

/** What an operator lets crews reach outside of the platform. */
export interface OpenRanges {
  /** Every private address. */
  readonly hasPrivateRanges: boolean
  /** Private ranges, such as `10.20.0.0/16`. */
  readonly ranges: readonly string[]
}

/**
 * Returns the addresses that an operator lets crews reach: the public ones, and private ones as the
 * operator says; never those of cloud metadata, of a node itself, and of its link. Listed texts
 * that are no range open nothing.
 */
export function openBlocks({ hasPrivateRanges, ranges }: OpenRanges): readonly AddressBlock[] {
  const shut = hasPrivateRanges ? NEVER : [...PRIVATE, ...NEVER]
  const listed = ranges.flatMap((text) => readRange(text) ?? [])
  return [
    ...EVERYTHING.map((range) => without(range, shut)),
    ...listed
      .filter((range) => !NEVER.some((part) => isWithin(range, part)))
      .map((range) => without(range, NEVER)),
  ]
}

/** Parts within another part are left out. */
const without = (range: AddressRange, parts: readonly AddressRange[]): AddressBlock => ({
  range,
  except: parts.filter(
    (part) => isWithin(part, range) && !parts.some((each) => each !== part && isWithin(part, each)),
  ),
})

/** Returns a block as a peer of a NetworkPolicy. */
export const toPeer = ({ range, except }: AddressBlock) => ({
  ipBlock: {
    cidr: rangeText(range),
    ...(except.length === 0 ? {} : { except: except.map(rangeText) }),
  },
})

/** Peers of a NetworkPolicy: every address but those of cloud metadata, or every public one. */
export const outsidePeers = (hasPrivateRanges: boolean) =>
  openBlocks({ hasPrivateRanges, ranges: [] }).map(toPeer)

/** The pods of one namespace, or of every one. */
export const inNamespace = (name: string | undefined) => ({
  namespaceSelector:
    name === undefined ? {} : { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

/** The installation of the platform that pods are of. */
export interface PlatformRelease {
  readonly namespace: string
  readonly release: string
}

/** The pods of one component of the platform. */
export const platformPods = ({ namespace, release }: PlatformRelease, component: string) => ({
  ...inNamespace(namespace),
  podSelector: {
    matchLabels: {
      'app.kubernetes.io/name': 'platform',
      'app.kubernetes.io/instance': release,
      'app.kubernetes.io/component': component,
    },
  },
})

/** Lets pods look up names, wherever the cluster's name servers are. */
export const TO_NAMES = { ports: ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 53 })) }
