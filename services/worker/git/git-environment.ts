import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { ProxyAddress } from '../../shared/outgoing/forward-proxy.ts'
import { withoutBrackets } from '../../shared/outgoing/private-addresses.ts'

/** How git is to reach a repository. */
interface GitAccess {
  readonly url: URL
  /** The addresses that were vetted: it connects to no others. None where a proxy finds them. */
  readonly addresses: readonly LookupAddress[]
  readonly proxy?: ProxyAddress
  /** A file with the certificates of the authorities that are trusted. */
  readonly authoritiesPath: string
  readonly token: string | undefined
  /** Where programs are. */
  readonly path: string
  /** An empty folder. */
  readonly home: string
}

/**
 * Returns all of the environment of git: nothing of the machine's settings, no questions, no
 * hooks, no redirects, and the token where neither a list of processes nor a log shows it.
 */
export function gitEnvironment(access: GitAccess): Record<string, string> {
  const settings = gitSettings(access)
  const numbered = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ])
  return {
    PATH: access.path,
    HOME: access.home,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_ALLOW_PROTOCOL: access.url.protocol.slice(0, -1),
    GIT_CONFIG_COUNT: String(settings.length),
    ...(Object.fromEntries(numbered) as Record<string, string>),
  }
}

function gitSettings(access: GitAccess): [string, string][] {
  const { url, addresses, proxy, authoritiesPath, token } = access
  const settings: [string, string][] = [
    // Lists of other places in a repository are not followed either then.
    ['http.followRedirects', 'false'],
    ['http.sslCAInfo', authoritiesPath],
    ['http.lowSpeedLimit', '100'],
    ['http.lowSpeedTime', '30'],
    ['core.hooksPath', '/dev/null'],
    ['core.bigFileThreshold', '16m'],
    ['pack.threads', '1'],
    // One file, so that one limit holds for all that comes.
    ['fetch.unpackLimit', '1'],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
  ]
  const host = withoutBrackets(url.hostname)
  if (proxy) settings.push(['http.proxy', proxy.secretUrl.href])
  else if (isIP(host) === 0) settings.push(['http.curloptResolve', pinOf(url, addresses)])
  if (token !== undefined) settings.push(['http.extraHeader', authorization(token)])
  return settings
}

function pinOf(url: URL, addresses: readonly LookupAddress[]): string {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const list = addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address))
  return `${url.hostname}:${port}:${list.join(',')}`
}

/** Most servers take any user name with a token; one that does not is given as `name:token`. */
function authorization(token: string): string {
  const pair = token.includes(':') ? token : `x-access-token:${token}`
  return `Authorization: Basic ${Buffer.from(pair).toString('base64')}`
}

/** Returns the addresses that a guard vetted. */
export const addressesOf = (lookup: LookupFunction, host: string): Promise<LookupAddress[]> =>
  new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, found) => {
      if (error) reject(error)
      else resolve(Array.isArray(found) ? found : [])
    })
  })
