import { BlockList, isIP } from 'node:net'
import * as v from 'valibot'
import { optional } from '../env.ts'
import { isLocalhost, withoutBrackets } from './private-addresses.ts'

const ENTRIES_MAX = 1000
const DIGITS = /^\d+$/

/** A proxy that passes calls on, as `HTTP_PROXY` and `HTTPS_PROXY` name it. */
export interface ProxyAddress {
  /** Without the user name and the password. */
  readonly url: URL
  /** With them. */
  readonly secretUrl: URL
  /** The value of `Proxy-Authorization`; undefined for a proxy that asks for none. */
  readonly authorization: string | undefined
}

/** Tells which calls go through a proxy. */
export interface ForwardProxy {
  /** Returns undefined for an address that is called directly. */
  proxyFor(url: URL): ProxyAddress | undefined
}

/** `proxy.corp:3128` is one, too, as curl and Python take it. */
const proxyUrl = () =>
  v.pipe(
    v.string(),
    v.transform((given) => (given.includes('://') ? given : `http://${given}`)),
    v.check(
      (given) => /^https?:\/\//i.test(given) && URL.canParse(given),
      'must be the address of a proxy, such as http://proxy.corp:3128',
    ),
    v.transform((given) => new URL(given)),
  )

/** The variables of a program that calls addresses outside of the cluster. */
export const proxyEnv = {
  /** For `http://` addresses. */
  HTTP_PROXY: optional(proxyUrl()),
  /** For `https://` addresses. */
  HTTPS_PROXY: optional(proxyUrl()),
  /** Names, `.domains`, addresses and ranges of them, with commas between, that go without one. */
  NO_PROXY: optional(v.string()),
}

/** The variables as a program read them. */
export interface ProxyConfig {
  readonly HTTP_PROXY?: URL | undefined
  readonly HTTPS_PROXY?: URL | undefined
  readonly NO_PROXY?: string | undefined
}

/** Returns the variables for programs of others, which read one spelling or the other. */
export function proxyVariables(config: ProxyConfig): Readonly<Record<string, string>> {
  const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY } = config
  const texts = { HTTP_PROXY: HTTP_PROXY?.href, HTTPS_PROXY: HTTPS_PROXY?.href, NO_PROXY }
  const isNeeded = HTTP_PROXY !== undefined || HTTPS_PROXY !== undefined
  return Object.fromEntries(
    Object.entries(isNeeded ? texts : {}).flatMap(([name, text]) =>
      text ? [name, name.toLowerCase()].map((spelling) => [spelling, text] as const) : [],
    ),
  )
}

/** Creates the rules of some variables. This machine itself is never asked for through a proxy. */
export function createForwardProxy(config: ProxyConfig): ForwardProxy {
  const proxies = new Map([
    ['http:', toAddress(config.HTTP_PROXY)],
    ['https:', toAddress(config.HTTPS_PROXY)],
  ])
  const isExempt = readExemptions(config.NO_PROXY ?? '')
  return {
    proxyFor(url) {
      const proxy = proxies.get(url.protocol)
      return proxy === undefined || isThisMachine(url) || isExempt(url) ? undefined : proxy
    },
  }
}

/** Returns the way of a call to an address of the operator's; undefined for a direct one. */
export function routeThrough(
  proxy: ForwardProxy | undefined,
  url: URL,
): { readonly proxy: ProxyAddress } | undefined {
  const found = proxy?.proxyFor(url)
  return found && { proxy: found }
}

function toAddress(given: URL | undefined): ProxyAddress | undefined {
  if (given === undefined) return undefined
  const pair = `${decodeURIComponent(given.username)}:${decodeURIComponent(given.password)}`
  const authorization = pair === ':' ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`
  return { url: new URL(given.origin), secretUrl: given, authorization }
}

const isThisMachine = ({ hostname }: URL): boolean =>
  isLocalhost(hostname) || hostname === '[::1]' || hostname.startsWith('127.')

type Exemption = (host: string, port: string) => boolean

/** Returns what tells whether an address is on the list, which curl, Python and Go read alike. */
function readExemptions(list: string): (url: URL) => boolean {
  const words = list
    .toLowerCase()
    .split(/[\s,]+/)
    .slice(0, ENTRIES_MAX)
  const exemptions = words.filter((word) => word !== '').map(toExemption)
  return ({ hostname, port, protocol }) => {
    const host = withoutBrackets(hostname).replace(/\.$/, '')
    const own = port || (protocol === 'https:' ? '443' : '80')
    return exemptions.some((isMatch) => isMatch(host, own))
  }
}

function toExemption(word: string): Exemption {
  if (word === '*') return () => true
  const [network = '', bits] = word.split('/')
  const family = isIP(withoutBrackets(network))
  if (family !== 0 && bits !== undefined && DIGITS.test(bits)) return range(network, Number(bits))
  if (family === 6) return (host) => host === withoutBrackets(network)
  const [, name = '', wanted] = /^(.*?)(?::(\d+))?$/.exec(word) ?? []
  const suffix = withoutBrackets(name).replace(/^\*?\./, '')
  return (host, port) =>
    (host === suffix || host.endsWith(`.${suffix}`)) && (wanted === undefined || wanted === port)
}

function range(network: string, bits: number): Exemption {
  const kind = network.includes(':') ? 'ipv6' : 'ipv4'
  if (bits > (kind === 'ipv6' ? 128 : 32)) return () => false
  const block = new BlockList()
  block.addSubnet(network, bits, kind)
  return (host) => isIP(host) !== 0 && block.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4')
}
