import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

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
export interface NameFiles {
  readonly hosts: ReadonlyMap<string, readonly string[]>
  readonly settings: ResolverSettings
}

/**
 * Reads the two files of this machine, at most every 5 s. At once rather than by the thread pool:
 * they are small, and threads may be held up by look-ups of others.
 */
export function createNameFiles(hostsFile = '/etc/hosts', resolverFile = '/etc/resolv.conf') {
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
