import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { startHttpServer } from './http-server.ts'

export interface TestTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema: { readonly type: 'object'; readonly [field: string]: unknown }
}

export interface McpCallSeen {
  readonly name: string
  readonly arguments: unknown
  readonly meta: unknown
  readonly authorization: string | undefined
  /** Of a call that is made again (2026-07-28). */
  readonly responses?: unknown
  readonly requestState?: unknown
}

export interface McpOptions {
  /** Tools of each page of the list. @default all of them */
  readonly pageSize?: number
  /** Answers with JSON, not with a stream of events. */
  readonly json?: boolean
  /** @default any */
  readonly port?: number
  /** Without sessions. */
  readonly stateless?: boolean
  /** The bearer token that a client needs. */
  readonly token?: string
  readonly answer?: (call: McpCallSeen) => Promise<TestResult> | TestResult
}

export interface TestResult {
  readonly content?: { readonly type: string; readonly [field: string]: unknown }[]
  readonly isError?: boolean
  readonly [field: string]: unknown
}

export const textResult = (text: string): TestResult => ({ content: [{ type: 'text', text }] })

/** An MCP server of the official SDK, over streamable HTTP. */
export async function startMcpServer(tools: TestTool[], options: McpOptions = {}) {
  const calls: McpCallSeen[] = []
  let requests = 0
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  let ended = 0

  async function connect(authorization: string | undefined) {
    const server = new Server(
      { name: 'test', version: '1' },
      { capabilities: { tools: { listChanged: true } } },
    )
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => pageOf(params?.cursor))
    server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
      const { name, _meta: meta } = params
      const seen = { name, arguments: params.arguments, meta, authorization }
      calls.push(seen)
      return { content: [], ...(await (options.answer?.(seen) ?? textResult(`called ${name}`))) }
    })
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: options.stateless ? undefined : randomUUID,
      enableJsonResponse: options.json ?? false,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => {
        sessions.delete(id)
        ended += 1
      },
    })
    await server.connect(transport as Parameters<typeof server.connect>[0])
    return transport
  }

  function pageOf(cursor: string | undefined) {
    const from = Number(cursor ?? 0)
    const to = from + (options.pageSize ?? tools.length)
    const next = to < tools.length ? { nextCursor: String(to) } : {}
    return { tools: tools.slice(from, to), ...next }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests += 1
    const { authorization } = request.headers
    if (options.token !== undefined && authorization !== `Bearer ${options.token}`) {
      response.writeHead(401).end()
      return
    }
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (id !== undefined && !known) {
      response.writeHead(404).end()
      return
    }
    await (known ?? (await connect(authorization))).handleRequest(request, response)
  }

  const server = await startHttpServer(
    (request, response) => void answer(request, response),
    options.port,
  )
  return {
    url: `${server.url}/mcp`,
    origin: server.url,
    /** May be changed while the server runs. */
    tools,
    calls,
    /** All HTTP requests so far. */
    requests: () => requests,
    /** Sessions that clients have ended. */
    ended: () => ended,
    forgetSessions: () => sessions.clear(),
    stop: () => server.stop(),
  }
}
