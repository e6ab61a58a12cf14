import type { IncomingHttpHeaders, IncomingMessage, ClientRequest } from 'node:http'
import { request as httpRequest } from 'node:http'
import { once } from 'node:events'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { AppError, toError } from '../errors.ts'
import type { Route } from './guard.ts'
import type { ProxyAddress } from './forward-proxy.ts'
import { withoutBrackets } from './private-addresses.ts'

/** One HTTP request. */
export interface OutgoingRequest {
  readonly url: URL
  /** @default GET */
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
  /** The only deadline, also of the answer's body. */
  readonly signal: AbortSignal
  /** The way that it takes. @default the address that the URL's host name resolves to */
  readonly route?: Route | undefined
}

/** A response, read up to the limit. */
export interface OutgoingResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** The body was longer than the limit; its beginning is here. */
  readonly isCut: boolean
}

/**
 * Sends a request and reads the answer up to a limit. Follows no redirect. `fetch` would give up
 * after five minutes by itself, and can be pinned to no address.
 */
export async function sendRequest(
  options: OutgoingRequest & { readonly responseBytesMax: number },
): Promise<OutgoingResponse> {
  const response = await openResponse(options)
  const head = { status: response.statusCode ?? 0, headers: response.headers }
  return { ...head, ...(await readBody(response, options.responseBytesMax)) }
}

/** Sends a request and returns its answer as soon as the head is there; the caller reads it. */
export function openResponse({
  method = 'GET',
  headers,
  body,
  ...rest
}: OutgoingRequest): Promise<IncomingMessage> {
  const sized =
    body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) }
  return openAnswer({ ...rest, method, body, headers: sized })
}

/** Reads a response up to a limit; 0: none of its body. */
export async function readBody(
  response: IncomingMessage,
  bytesMax: number,
): Promise<Pick<OutgoingResponse, 'body' | 'isCut'>> {
  if (bytesMax === 0) {
    response.destroy()
    return { body: Buffer.alloc(0), isCut: true }
  }
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    chunks.push(chunk)
    // Leaving the loop destroys the connection: nothing of the rest is read.
    if (size > bytesMax) break
  }
  return { body: Buffer.concat(chunks).subarray(0, bytesMax), isCut: size > bytesMax }
}

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
async function openAnswer(sent: RoutedRequest): Promise<IncomingMessage> {
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
