import type { LookupAddress } from 'node:dns'
import dns from 'node:dns'
import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { readFileSync } from 'node:fs'
import { isLocalhost, withoutBrackets } from './private-addresses.ts'

/** For each try of each name server; the caller's signal bounds the whole. */
const TRY_MS = 1000
const TRIES = 2
const ADDRESSES_MAX = 32
/** There is no such name, or it has no address of that family. */
const ABSENT = new Set(['ENOTFOUND', 'ENODATA'])
const SERVER_FAILURES = new Set(['ESERVFAIL', 'EREFUSED'])
const LOOPBACK = ['127.0.0.1', '::1']

/** Resolves a name. Rejects with the reason of the signal once that aborts. */
export type ResolveName = (name: string, signal: AbortSignal) => Promise<readonly LookupAddress[]>

/**
 * Resolves names as the system does (hosts file, search domains, name servers), but without the
 * threads that all of the process shares: a name server that is silent holds up nobody but
 * who asked for its name. Returns IPv4 before IPv6, and nothing for a name that does not exist.
 * Raises what the name server or the signal says.
 */
export function createResolveName(nameFiles: () => NameFiles = createNameFiles()): ResolveName {
  return async function resolveName(name, signal) {
    const host = withoutBrackets(name).toLowerCase()
    if (isIP(host) !== 0) return toAddresses([host])
    const { hosts, settings } = nameFiles()
    const known = hosts.get(host.replace(/\.$/, ''))
    if (known) return toAddresses(known)
    // RFC 6761 §6.3: never asked for.
    if (isLocalhost(host)) return toAddresses(LOOPBACK)
    return askServers(fullNames(host, settings), signal)
  }
}

async function askServers(
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  signal.throwIfAborted()
  // Of its own: to cancel it cancels nobody else's.
  const resolver = new dns.promises.Resolver({ timeout: TRY_MS, tries: TRIES })
  // Those of the process, where it was told others than the system's. Asked of the module:
  // `dns.setServers` puts another function there.
  const servers = dns.getServers()
  if (!isDeepStrictEqual(servers, resolver.getServers())) resolver.setServers(servers)
  const cancel = (): void => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    let failure: unknown
    for (const name of names) {
      try {
        const found = await askFor(resolver, name)
        if (found.length > 0) return found
      } catch (thrown) {
        // Another name may be in the hands of a server that works; one that is silent would be so
        // again.
        if (!SERVER_FAILURES.has(codeOf(thrown))) throw thrown
        failure ??= thrown
      }
    }
    if (failure !== undefined) throw failure
    return []
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

async function askFor(
  resolver: dns.promises.Resolver,
  name: string,
): Promise<readonly LookupAddress[]> {
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = [four, six].flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  if (found.length > 0) return toAddresses(found)
  for (const each of [four, six]) {
    if (each.status === 'rejected' && !ABSENT.has(codeOf(each.reason))) throw each.reason
  }
  return []
}

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''

function toAddresses(found: readonly string[]): readonly LookupAddress[] {
  const addresses = found.map((address) => ({ address, family: isIP(address) }))
  return addresses.toSorted((one, other) => one.family - other.family).slice(0, ADDRESSES_MAX)
}

/** As glibc has it; a cluster's `/etc/resolv.conf` says 5. */
const NDOTS_DEFAULT = 1
const NDOTS_MAX = 15
const SEARCH_MAX = 32
const BYTES_MAX = 1 << 20
const FRESH_MS = 5000

/** The settings that decide which full names a short one may stand for. */
interface ResolverSettings {
  /** Domains that are tried behind a name. */
  readonly search: readonly string[]
  /** A name with so many dots is tried as it is first. */
  readonly ndots: number
}

/** The addresses of each name in a hosts file (hosts(5)); names are in lower case. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>()
  for (const line of text.slice(0, BYTES_MAX).split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) === 0) continue
    for (const name of names) {
      const key = name.toLowerCase()
      hosts.set(key, [...(hosts.get(key) ?? []), address])
    }
  }
  return hosts
}

/**
 * Reads the settings that decide which full names a short one may stand for (resolv.conf(5)). The
 * last `search` or `domain` counts.
 */
export function parseResolverSettings(text: string): ResolverSettings {
  let search: readonly string[] = []
  let ndots = NDOTS_DEFAULT
  for (const line of text.slice(0, BYTES_MAX).split('\n')) {
    const [key, ...words] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    if (key === 'search' || key === 'domain') search = words.slice(0, SEARCH_MAX)
    const option = key === 'options' ? /(?:^| )ndots:(\d+)/.exec(words.join(' '))?.[1] : undefined
    if (option !== undefined) ndots = Math.min(Number(option), NDOTS_MAX)
  }
  return { search: search.map((domain) => domain.replace(/\.$/, '').toLowerCase()), ndots }
}

/** The full names that a name may stand for, in the order in which they are asked for. */
export function fullNames(name: string, { search, ndots }: ResolverSettings): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const dots = name.split('.').length - 1
  const longer = search.filter((domain) => domain !== '').map((domain) => `${name}.${domain}`)
  return dots >= ndots ? [name, ...longer] : [...longer, name]
}

/** The contents of `/etc/hosts` and `/etc/resolv.conf`. */
interface NameFiles {
  readonly hosts: ReadonlyMap<string, readonly string[]>
  readonly settings: ResolverSettings
}

/**
 * Reads the two files of this machine, at most every 5 s. At once rather than by the thread pool:
 * they are small, and threads may be held up by look-ups of others.
 */
function createNameFiles(hostsFile = '/etc/hosts', resolverFile = '/etc/resolv.conf') {
  let read: NameFiles | undefined
  let readAt = -Infinity
  return function nameFiles(): NameFiles {
    const now = performance.now()
    if (read && now - readAt < FRESH_MS) return read
    read = {
      hosts: parseHosts(readText(hostsFile)),
      settings: parseResolverSettings(readText(resolverFile)),
    }
    readAt = now
    return read
  }
}

/** Empty where there is no such file, as on Windows. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
