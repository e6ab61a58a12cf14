import { isIP, isIPv6 } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'

/**
 * Where a request comes from. Behind `proxies` proxies of ours that is what the outermost of them
 * wrote into X-Forwarded-For; everything left of that the client may have made up. With 0, the
 * default, it is the socket's address.
 */
export function clientAddress<Env extends { Bindings: Partial<HttpBindings> }>(
  c: Context<Env>,
  proxies: number,
): string {
  return normalize(addressOf(c, proxies))
}

/** The same as a whole address; undefined where a proxy wrote none. */
export function exactAddress<Env extends { Bindings: Partial<HttpBindings> }>(
  c: Context<Env>,
  proxies: number,
): string | undefined {
  const plain = unmapped(addressOf(c, proxies))
  return isIP(plain) === 0 || plain.includes('%') ? undefined : plain
}

function addressOf<Env extends { Bindings: Partial<HttpBindings> }>(
  c: Context<Env>,
  proxies: number,
): string {
  const forwarded = (c.req.header('x-forwarded-for') ?? '').split(',').map((each) => each.trim())
  const told = proxies > 0 ? forwarded.at(-proxies) : undefined
  return told || (c.env?.incoming?.socket.remoteAddress ?? 'unknown')
}

/** An address of IPv4 that a socket of IPv6 has as its own. */
const unmapped = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '').slice(0, 64)

/** Returns one form per address; of IPv6 the network, because a single host owns 2^64 addresses. */
function normalize(address: string): string {
  const plain = unmapped(address)
  if (!isIPv6(plain)) return plain
  const [head = '', tail = ''] = plain.split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  const groups = plain.includes('::') ? [...left, ...zeros, ...right] : left
  return `${groups.slice(0, 4).join(':').toLowerCase()}::/64`
}
