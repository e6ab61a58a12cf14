import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { AppError, toError } from '../errors.ts'
import type { ProxyAddress } from './forward-proxy.ts'
import type { Route } from './guard.ts'
import { withoutBrackets } from './private-addresses.ts'

/** One request, and the way that was chosen for it. */
interface RoutedRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | undefined
  readonly signal: AbortSignal
  /** @default directly, to the address that the name resolves to */
  readonly route?: Route | undefined
}

/**
 * Sends a request and returns its answer as soon as the head is there. Raises `bad_gateway` for a
 * proxy that does not pass it on, and what the connection raises.
 */
export async function openAnswer(sent: RoutedRequest): Promise<IncomingMessage> {
  const { route } = sent
  if (route === undefined || !('proxy' in route)) {
    return answerOf(requesterOf(sent.url)(sent.url, { ...headOf(sent), ...route }), sent)
  }
  const { proxy } = route
  return sent.url.protocol === 'https:' ? throughTunnel(sent, proxy) : throughProxy(sent, proxy)
}

const headOf = ({ method, headers, signal }: RoutedRequest) => ({ method, headers, signal })

/** Listens at once: an error that nobody hears would end the process. */
async function answerOf(request: ClientRequest, { body }: RoutedRequest): Promise<IncomingMessage> {
  // An abort in the middle of the answer raises both where the answer is read and here.
  request.on('error', () => {})
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

/** A proxy takes a call without TLS by its whole address. */
function throughProxy(sent: RoutedRequest, proxy: ProxyAddress): Promise<IncomingMessage> {
  const { origin, pathname, search, host } = sent.url
  const options = { ...headOf(sent), path: `${origin}${pathname}${search}`, agent: false } as const
  const headers = { ...sent.headers, host, ...authorizationOf(proxy) }
  return answerOf(requesterOf(proxy.url)(proxy.url, { ...options, headers }), sent)
}

/** TLS goes from here to the server: the proxy passes on what it cannot read. */
async function throughTunnel(sent: RoutedRequest, proxy: ProxyAddress): Promise<IncomingMessage> {
  const socket = await openTunnel(sent.url, sent.signal, proxy)
  const host = withoutBrackets(sent.url.hostname)
  const servername = isIP(host) === 0 ? host : ''
  const createConnection = () =>
    connectTls({ socket, host, servername, ALPNProtocols: ['http/1.1'] })
  return answerOf(httpsRequest(sent.url, { ...headOf(sent), createConnection }), sent)
}

const requesterOf = ({ protocol }: URL) => (protocol === 'https:' ? httpsRequest : httpRequest)

const authorizationOf = ({ authorization }: ProxyAddress): Record<string, string> =>
  authorization === undefined ? {} : { 'proxy-authorization': authorization }

async function openTunnel(url: URL, signal: AbortSignal, proxy: ProxyAddress): Promise<Duplex> {
  const place = `${url.hostname}:${url.port || '443'}`
  const headers = { host: place, ...authorizationOf(proxy) }
  const options = { method: 'CONNECT', path: place, headers, signal, agent: false } as const
  const request = requesterOf(proxy.url)(proxy.url, options)
  // It still hears the signal when the tunnel stands.
  request.on('error', () => {})
  request.end()
  // Node raises the event for each answer to CONNECT, whatever its status.
  const answer = await once(request, 'connect').catch((thrown: unknown) => {
    signal.throwIfAborted()
    throw refusal(proxy, `cannot be reached (${reasonOf(toError(thrown))})`)
  })
  const [{ statusCode }, socket, first] = answer as [IncomingMessage, Duplex, Buffer]
  if (statusCode !== 200) {
    socket.destroy()
    throw refusal(proxy, `refuses to connect to ${place} with HTTP ${statusCode}`)
  }
  if (first.length > 0) socket.unshift(first)
  return socket
}

const reasonOf = (error: Error): string => ('code' in error ? String(error.code) : error.message)

function refusal({ url: { host } }: ProxyAddress, what: string): AppError {
  const advice = 'Check HTTPS_PROXY and NO_PROXY (chart: global.proxy), and the rules of the proxy.'
  return new AppError('bad_gateway', `The proxy ${host} ${what}. ${advice}`, {
    details: { problem: 'unreachable' },
  })
}
