import * as v from 'valibot'
import { AppError } from '../errors.ts'
import {
  initialized,
  PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
  toolPage,
  toolResult,
} from './messages.ts'
import type { McpRequest, McpTool, McpToolResult } from './messages.ts'
import { badAnswer, endSession, postMessage } from './post-message.ts'
import type { McpAnswer, McpServer, Posted } from './post-message.ts'

const PAGES_MAX = 50
const SAID_CHARACTERS_MAX = 500
const METHOD_NOT_FOUND = -32_601
const INITIALIZE = {
  protocolVersion: PROTOCOL_VERSION,
  capabilities: {},
  clientInfo: { name: 'crew-platform', version: '2' },
}

/** A call of a tool. */
export interface McpCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Facts for the server, beside the arguments. */
  readonly meta: Readonly<Record<string, unknown>>
}

/** A conversation with an MCP server. */
export interface McpSession {
  /** Lists the tools of the server, over all pages. */
  listTools(signal: AbortSignal): Promise<McpTool[]>
  /** Calls a tool once. A tool that fails is a result; raises for a server that does. */
  callTool(call: McpCall, signal: AbortSignal): Promise<McpToolResult>
  /** Tells the server that the session is over. Never raises. */
  close(signal: AbortSignal): Promise<void>
}

interface Session {
  readonly id: string | undefined
  readonly version: string
}

type Params = Readonly<Record<string, unknown>>

interface Connection {
  /** Sends a request within the session, which it begins or begins anew. */
  request(method: string, params: Params, signal: AbortSignal): Promise<McpAnswer>
  /** The session, if there is one. */
  current(): Promise<Session> | undefined
}

function createConnection(server: McpServer): Connection {
  let session: Promise<Session> | undefined
  let lastId = 0

  const initialize = async (signal: AbortSignal): Promise<Session> => {
    const answer = await post(server, {
      body: { id: (lastId += 1), method: 'initialize', params: INITIALIZE },
      headers: {},
      signal,
    })
    const { protocolVersion: version } = resultOf(server, answer, initialized)
    if (!PROTOCOL_VERSIONS.includes(version)) {
      throw badAnswer(server, `version ${version.slice(0, 20)} of the protocol, which is not known`)
    }
    const begun = { id: answer.sessionId, version }
    const body = { method: 'notifications/initialized' }
    await post(server, { body, headers: headersOf(begun), signal })
    return begun
  }

  async function begin(signal: AbortSignal): Promise<Session> {
    session ??= initialize(signal)
    const begun = session
    try {
      return await begun
    } catch (thrown) {
      if (session === begun) session = undefined
      throw thrown
    }
  }

  return {
    current: () => session,
    async request(method, params, signal) {
      for (let attempts = 1; ; attempts += 1) {
        const begun = await begin(signal)
        const body = { id: (lastId += 1), method, params }
        const answer = await post(server, { body, headers: headersOf(begun), signal })
        // The server has forgotten the session, and has done nothing.
        const isForgotten = answer.status === 404 && begun.id !== undefined
        if (!isForgotten || attempts === 2) return answer
        session = undefined
      }
    },
  }
}

/** Posts a message, and answers what the server asks meanwhile. */
function post(server: McpServer, posted: Posted): Promise<McpAnswer> {
  const { body, headers, signal } = posted
  const onRequest = (request: McpRequest): void => {
    const reply = replyTo(request)
    if (reply) void postMessage(server, { body: reply, headers, signal }).catch(() => {})
  }
  return postMessage(server, { ...posted, body: { jsonrpc: '2.0', ...body }, onRequest })
}

/**
 * Creates a session with an MCP server over streamable HTTP (2025-06-18), which begins with the
 * first call. Every method raises `bad_gateway` when the server cannot be used, and the reason of
 * the signal.
 */
export function openMcpSession(server: McpServer): McpSession {
  const connection = createConnection(server)
  return {
    async listTools(signal) {
      const tools: McpTool[] = []
      let cursor: string | undefined
      for (let pages = 0; pages < PAGES_MAX; pages += 1) {
        const params = cursor === undefined ? {} : { cursor }
        const page = resultOf(
          server,
          await connection.request('tools/list', params, signal),
          toolPage,
        )
        tools.push(...page.tools)
        cursor = page.nextCursor
        if (cursor === undefined) return tools
      }
      throw badAnswer(server, `a list of tools with more than ${PAGES_MAX} pages`)
    },
    async callTool({ name, arguments: given, meta }, signal) {
      const params = { name, arguments: given, _meta: meta }
      return resultOf(server, await connection.request('tools/call', params, signal), toolResult)
    },
    async close(signal) {
      const begun = await connection.current()?.catch(() => undefined)
      if (begun?.id === undefined) return
      await endSession(server, headersOf(begun), signal).catch(() => {})
    },
  }
}

const headersOf = ({ id, version }: Session): Readonly<Record<string, string>> => ({
  'mcp-protocol-version': version,
  ...(id === undefined ? {} : { 'mcp-session-id': id }),
})

/** This client offers nothing but to be there. */
function replyTo({ id, method }: McpRequest): Params | undefined {
  if (id === undefined) return undefined
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
  const error = { code: METHOD_NOT_FOUND, message: `${method} is not supported` }
  return { jsonrpc: '2.0', id, error }
}

function resultOf<Output>(
  server: McpServer,
  { status, response }: McpAnswer,
  schema: v.GenericSchema<unknown, Output>,
): Output {
  if (status === 401 || status === 403) throw unauthorized(server, status)
  if (!response) throw badAnswer(server, `HTTP ${status}`)
  if ('error' in response) throw refused(server, response.error.message)
  const result = v.safeParse(schema, 'result' in response ? response.result : undefined)
  if (result.success) return result.output
  const [issue] = result.issues
  throw badAnswer(server, `a result that is not valid (${v.getDotPath(issue) ?? 'result'})`)
}

function unauthorized({ url, token }: McpServer, status: number): AppError {
  const todo =
    token?.() === undefined
      ? 'Name a `connection` in the tool.'
      : 'Connect its connection again, with the scopes that the server wants.'
  const message = `The MCP server at ${url.host} refuses the call with HTTP ${status}. ${todo}`
  return new AppError('bad_gateway', message, { details: { problem: 'unauthorized' } })
}

function refused({ url }: McpServer, said: string): AppError {
  const message = `The MCP server at ${url.host} says: ${said.slice(0, SAID_CHARACTERS_MAX)}`
  return new AppError('bad_gateway', message, { details: { problem: 'refused' } })
}
