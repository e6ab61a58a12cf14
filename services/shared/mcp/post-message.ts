import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import { AppError } from '../errors.ts'
import type { OutgoingGuard } from '../outgoing/guard.ts'
import { openResponse, readBody } from '../outgoing/send-request.ts'
import { tokenHeader } from '../outgoing/token-header.ts'
import type { SentToken } from '../outgoing/token-header.ts'
import { message } from './messages.ts'
import type { McpEras } from './per-request.ts'
import type { McpMessage, McpRequest } from './messages.ts'
import { readEvents } from '../http/read-events.ts'

const NOTICES_MAX = 10_000
/** What to do about an answer that an MCP server does not give. */
export const CHECK_ADDRESS =
  'Check the address: it is the one of the MCP endpoint, such as https://host/mcp.'
const LESS = 'Let the server answer with less: fewer tools, or a shorter result.'

/** A server, and what a client needs to talk to it. */
export interface McpServer {
  readonly url: URL
  /** The access token of the moment, if it has one. */
  readonly token?: (() => SentToken | undefined) | undefined
  readonly guard: OutgoingGuard
  readonly responseBytesMax: number
  /** What is known of servers so far. @default nothing */
  readonly eras?: McpEras | undefined
  /** What a server of 2026 may count on. @default nothing */
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined
}

/** A message to a server. */
export interface Posted {
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Called with what the server asks meanwhile. */
  readonly onRequest?: (request: McpRequest) => void
}

/** The answer to a message. */
export interface McpAnswer {
  readonly status: number
  readonly sessionId: string | undefined
  /** The response to a request; none for a notification. */
  readonly response: McpMessage | undefined
}

/**
 * Posts one message to a server (MCP, streamable HTTP) and reads the answer: JSON, or a stream of
 * events up to the response. Raises `bad_gateway` for an answer that is neither.
 */
export async function postMessage(server: McpServer, posted: Posted): Promise<McpAnswer> {
  const { url, guard, token } = server
  const { signal, body } = posted
  const response = await openResponse({
    url,
    method: 'POST',
    headers: {
      ...posted.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      ...tokenHeader(token?.()),
    },
    body: JSON.stringify(body),
    signal,
    route: await guard.pin(url, { subject: url.host, signal }),
  })
  try {
    return await readAnswer(server, response, posted)
  } finally {
    response.destroy()
  }
}

/** Ends a session. Raises when the server cannot be reached. */
export async function endSession(
  { url, guard, token }: McpServer,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const route = await guard.pin(url, { subject: url.host, signal })
  const own = { ...headers, ...tokenHeader(token?.()) }
  const response = await openResponse({ url, method: 'DELETE', headers: own, signal, route })
  response.destroy()
}

async function readAnswer(
  server: McpServer,
  response: IncomingMessage,
  posted: Posted,
): Promise<McpAnswer> {
  const { statusCode: status = 0, headers } = response
  const sessionId = [headers['mcp-session-id']].flat()[0]
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const isExpected = posted.body['id'] !== undefined && status !== 202
  const isRefusal = status >= 400 && type !== 'application/json'
  const read = type === 'text/event-stream' ? readStream : readJson
  const said = isExpected && !isRefusal ? await read(server, response, posted) : undefined
  return { status, sessionId, response: said }
}

async function readJson(
  server: McpServer,
  response: IncomingMessage,
  { body: asked }: Posted,
): Promise<McpMessage | undefined> {
  const { statusCode: status = 0, headers } = response
  const type = headers['content-type'] ?? ''
  if (!/^application\/json\b/i.test(type)) {
    throw badAnswer(
      server,
      `HTTP ${status} and ${type === '' ? 'no content type' : type.slice(0, 100)}`,
      CHECK_ADDRESS,
    )
  }
  const { body, isCut } = await readBody(response, server.responseBytesMax)
  if (isCut) throw badAnswer(server, `more than ${server.responseBytesMax} bytes`, LESS)
  const said = parse(body.toString('utf8'))
  if (said && !isAbout(said, asked['id'])) {
    throw badAnswer(server, 'the response to another request')
  }
  if (said || status >= 400) return said
  throw badAnswer(server, 'JSON that is no message of MCP', CHECK_ADDRESS)
}

/** An error about what could not be read has no id. */
const isAbout = (said: McpMessage, id: unknown): boolean =>
  said.id === id || ('error' in said && (said.id === undefined || said.id === null))

async function readStream(
  server: McpServer,
  stream: IncomingMessage,
  { body, onRequest }: Posted,
): Promise<McpMessage> {
  let seen = 0
  try {
    for await (const data of readEvents(stream, server.responseBytesMax)) {
      const said = parse(data)
      if (said && 'method' in said) onRequest?.(said)
      else if (said && said.id === body['id']) return said
      if ((seen += 1) > NOTICES_MAX) throw new RangeError(`more than ${NOTICES_MAX} events`)
    }
  } catch (thrown) {
    if (thrown instanceof RangeError) throw badAnswer(server, thrown.message, LESS)
    throw thrown
  }
  throw badAnswer(server, 'a stream that ended without the response')
}

function parse(text: string): McpMessage | undefined {
  try {
    const result = v.safeParse(message, JSON.parse(text))
    return result.success ? result.output : undefined
  } catch {
    return undefined
  }
}

/** Builds the error for an answer that cannot be used, with what to do about it. */
export function badAnswer({ url }: McpServer, what: string, todo = ''): AppError {
  const message = `The MCP server at ${url.host} answered with ${what}. ${todo}`.trim()
  return new AppError('bad_gateway', message, { details: { problem: 'bad_answer' } })
}
