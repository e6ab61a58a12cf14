import { isIP } from 'node:net'

/**
 * What static tokens may be for: to start and steer runs; to read runs, projects and packages; to
 * design and deploy; to upload packages; to change settings.
 */
export const TOKEN_SCOPES = ['kickoff', 'read', 'design', 'upload', 'settings'] as const
/** What a static token may be for. */
export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** The networks that one token may name. */
export const NETWORKS_MAX = 50

/** What a static token may do, for how long, and from where. */
export interface TokenLimits {
  readonly scopes: readonly TokenScope[]
  /** null: never. */
  readonly expiresAt: Date | null
  /** Networks in CIDR notation; none: from anywhere. */
  readonly networks: readonly string[]
}

/** A token without limits. */
export const UNLIMITED: TokenLimits = { scopes: TOKEN_SCOPES, expiresAt: null, networks: [] }

/**
 * Reads addresses and networks with spaces, commas or line ends between them, an address as the
 * network of it alone. Returns the first text that is neither instead.
 */
export function readNetworks(text: string): readonly string[] | { readonly wrong: string } {
  const networks: string[] = []
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const network = readNetwork(word)
    if (network === undefined) return { wrong: word }
    networks.push(network)
  }
  return [...new Set(networks)]
}

/** The bits behind the prefix have to be zero, as PostgreSQL asks for. */
function readNetwork(word: string): string | undefined {
  const [address = '', length, ...more] = word.split('/')
  const version = isIP(address)
  const bits = version === 6 ? 128 : 32
  if (version === 0 || more.length > 0 || address.includes('%')) return undefined
  if (length === undefined) return `${address}/${bits}`
  const prefix = /^\d{1,3}$/.test(length) ? Number(length) : bits + 1
  if (prefix > bits) return undefined
  return hostBits(address, prefix) === 0n ? `${address}/${prefix}` : undefined
}

function hostBits(address: string, prefix: number): bigint {
  const isV6 = isIP(address) === 6
  const value = isV6 ? ipv6Value(address) : ipv4Value(address)
  return value & ((1n << BigInt((isV6 ? 128 : 32) - prefix)) - 1n)
}

const ipv4Value = (address: string): bigint =>
  address.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n)

function ipv6Value(address: string): bigint {
  const mapped = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  if (mapped?.[1] !== undefined && mapped[2] !== undefined) {
    const low = ipv4Value(mapped[2])
    return ipv6Value(`${mapped[1]}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`)
  }
  const [head = '', tail] = address.split('::')
  const left = head.split(':').filter(Boolean)
  const right = (tail ?? '').split(':').filter(Boolean)
  const zeros = Array<string>(8 - left.length - right.length).fill('0')
  const groups = tail === undefined ? left : [...left, ...zeros, ...right]
  return groups.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
}
