import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import type { LookupFunction } from 'node:net'
import { AppError, toError } from '../errors.ts'
import type { ForwardProxy, ProxyAddress } from './forward-proxy.ts'
import { isLocalhost, isPrivateAddress, withoutBrackets } from './private-addresses.ts'
import { createResolveName } from './resolve-name.ts'
import type { ResolveName } from './resolve-name.ts'
import { createTurns } from './turns.ts'

const TURNS = {
  concurrent: 8,
  waitingMax: 64,
  busy: 'Too many names are being looked up. Try again.',
}
/** Where a proxy finds the names, name servers of a cluster may be silent about those outside. */
const LOOK_BEFORE_PROXY_MS = 1000

/** The reason that an address is not called. */
export type GuardProblem = 'private_address' | 'unreachable'

interface GuardOptions {
  /** Origins on private networks that the operator allows. */
  readonly privateOrigins: readonly string[]
  /** The setting by which an operator allows one, for the message: `LLM_PRIVATE_ORIGINS (…)`. */
  readonly setting: string
  /** Passes on what is not on private networks. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
  readonly resolveName?: ResolveName
}

/** The one for whom a call is made. */
export interface Asker {
  /** The one who aims the call, such as an organization: nobody else waits for its look-ups. */
  readonly subject: string
  readonly signal: AbortSignal
}

/** Options that send a request to the addresses that were vetted, and no others. */
interface Pinned {
  readonly lookup: LookupFunction
  /**
   * A connection of its own: one that was kept open would be to an address that was vetted for
   * another name.
   */
  readonly agent: false
}

/** The way that a request takes: to the addresses that were vetted, or through a proxy. */
export type Route = Pinned | { readonly proxy: ProxyAddress }

/**
 * Stands before every call to an address that an organization chose. Such a call goes to public
 * addresses, and to private ones only where the operator lists the origin; a name is resolved once,
 * and the connection goes there. Behind a proxy, what resolves to a private address here is judged
 * the same and never passed on; every other name is the proxy's to resolve, whose own rules then
 * decide what it connects to.
 */
export interface OutgoingGuard {
  /** Tells whether the operator lists the origin of an address. */
  isListed(url: URL): boolean
  /**
   * Returns the problem with an address that is written as numbers or as localhost, before anybody
   * resolves a name.
   */
  problemOf(url: URL): string | undefined
  /** Raises `bad_gateway` with a `GuardProblem` as `details.problem`. */
  pin(url: URL, asker: Asker): Promise<Route>
}

/** Creates a guard with look-ups of its own: eight at a time for each subject. */
export function createOutgoingGuard(options: GuardOptions): OutgoingGuard {
  const { privateOrigins, setting, resolveName = createResolveName() } = options
  const takeTurn = createTurns(TURNS)
  const isListed = ({ origin }: URL): boolean => privateOrigins.includes(origin)

  async function resolve({ hostname, host }: URL, { subject, signal }: Asker) {
    try {
      return await takeTurn(subject, () => resolveName(hostname, signal))
    } catch (thrown) {
      signal.throwIfAborted()
      throw thrown instanceof AppError ? thrown : unresolved(host, toError(thrown))
    }
  }

  /** Returns nothing for a name that only the proxy can resolve. */
  async function resolveBriefly(url: URL, { subject, signal }: Asker) {
    const brief = AbortSignal.any([signal, AbortSignal.timeout(LOOK_BEFORE_PROXY_MS)])
    try {
      return await takeTurn(subject, () => resolveName(url.hostname, brief))
    } catch (thrown) {
      signal.throwIfAborted()
      if (thrown instanceof AppError) throw thrown
      return []
    }
  }

  return {
    isListed,
    problemOf(url) {
      const isInside = isLocalhost(url.hostname) || isPrivateNumber(url)
      return isInside && !isListed(url) ? notPublic(url, setting).message : undefined
    },
    async pin(url, asker) {
      const proxy = options.proxy?.proxyFor(url)
      const found = proxy ? await resolveBriefly(url, asker) : await resolve(url, asker)
      if (proxy && !found.some(({ address }) => isPrivateAddress(address))) return { proxy }
      const isAllowed = isListed(url) || !found.some(({ address }) => isPrivateAddress(address))
      if (found.length === 0 || !isAllowed) throw notPublic(url, setting)
      return { lookup: pinTo(found), agent: false }
    },
  }
}

function isPrivateNumber({ hostname }: URL): boolean {
  const host = withoutBrackets(hostname)
  return isIP(host) !== 0 && isPrivateAddress(host)
}

/**
 * The same words for a name that nobody has and for one of the inside: else names of the inside
 * could be tried out.
 */
function notPublic({ host, origin }: URL, setting: string): AppError {
  return problem(
    'private_address',
    `${host} has no public address: it is private, or there is no such name. ` +
      `Check it; the operator can allow a private one by listing ${origin} in ${setting}.`,
  )
}

function unresolved(host: string, error: Error): AppError {
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return problem('unreachable', `The name servers do not tell the address of ${host}${code}.`)
}

const problem = (name: GuardProblem, message: string): AppError =>
  new AppError('bad_gateway', message, { details: { problem: name } })

function pinTo(addresses: readonly LookupAddress[]): LookupFunction {
  const [first = { address: '', family: 0 }] = addresses
  return (_hostname, { all }, callback) => {
    // Later, as a real look-up calls back.
    process.nextTick(() =>
      all ? callback(null, [...addresses]) : callback(null, first.address, first.family),
    )
  }
}
