import { BlockList, isIP, isIPv6 } from 'node:net'

/**
 * Addresses that are not on the public Internet (IANA special-purpose registries). Networks that
 * translate hand an address with an IPv4 address in it on to that one, so the ranges for it are
 * here as a whole, public addresses in them or not: a tunnel (6to4, Teredo) or a prefix of the own
 * network (64:ff9b:1::/48, and ::ffff:0:0:0/96 of SIIT) leads through the inside.
 */
const SPECIAL: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
]

const nat64 = new BlockList()
nat64.addSubnet('64:ff9b::', 96, 'ipv6')
const special = new BlockList()
for (const [network, prefix] of SPECIAL) {
  special.addSubnet(network, prefix, isIPv6(network) ? 'ipv6' : 'ipv4')
}

/**
 * Tells whether an IP address is loopback, private, link-local or otherwise not public. A text that
 * is no address counts as private.
 */
export function isPrivateAddress(address: string): boolean {
  const plain = withoutBrackets(address).replace(/%.*$/, '')
  const family = isIP(plain)
  if (family === 0) return true
  // BlockList reads IPv4 in IPv6 (::ffff:0:0/96) as IPv4.
  if (family === 4) return special.check(plain, 'ipv4')
  return special.check(plain, 'ipv6') || isPrivateBehindNat64(plain)
}

/**
 * Tells whether the well-known prefix of NAT64 (RFC 6052) stands before a private IPv4 address.
 * With DNS64, names that have IPv4 addresses alone resolve to such addresses, too.
 */
function isPrivateBehindNat64(address: string): boolean {
  if (!nat64.check(address, 'ipv6')) return false
  // Parsing an address writes its last 32 bits as two groups, of which the first may be left out.
  const { hostname } = new URL(`http://[${address}]`)
  const [high = '', low = ''] = withoutBrackets(hostname).split(':').slice(-2)
  const bits = (Number.parseInt(high || '0', 16) << 16) | Number.parseInt(low || '0', 16)
  const octets = [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255)
  return special.check(octets.join('.'), 'ipv4')
}

/** The host of a URL without the brackets that stand around an IPv6 address there. */
export const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, '')

/** Tells whether a name in lower case is of this machine, whatever name servers say of it. */
export const isLocalhost = (name: string): boolean => /(^|\.)localhost\.?$/.test(name)
