import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, fromJsonSchema, McpServer, Server } from '@modelcontextprotocol/server'
import type {
  CallToolResult,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server'
import { startHttpServer } from './http-server.ts'
import type { McpCallSeen, TestTool } from './mcp-server.ts'

type Result = CallToolResult | InputRequiredResult

interface Options {
  /** Tools of each page of the list. @default all of them */
  readonly pageSize?: number
  /** @default JSON, where nothing comes before it */
  readonly responseMode?: 'sse'
  /** @default any */
  readonly port?: number
  /** Takes 2025 as well. @default 2026-07-28 alone */
  readonly legacy?: 'stateless'
  /** Compares headers with the arguments that they repeat; has no pages. */
  readonly comparesHeaders?: boolean
  readonly answer?: (call: McpCallSeen, context: ServerContext) => Promise<Result> | Result
}

const INFO = { name: 'test', version: '1' }

/** An MCP server of the official SDK that takes 2026-07-28, alone unless it is told otherwise. */
export async function startMcpServer2026(tools: TestTool[], options: Options = {}) {
  const { pageSize = tools.length, responseMode, port, answer, comparesHeaders } = options
  const calls: McpCallSeen[] = []
  const methods: string[] = []

  async function call(name: string, given: unknown, context: ServerContext): Promise<Result> {
    const authorization = context.http?.req?.headers.get('authorization') ?? undefined
    const { _meta: meta, inputResponses: responses } = context.mcpReq
    const requestState = context.mcpReq.requestState()
    const seen = { name, arguments: given, meta, authorization, responses, requestState }
    calls.push(seen)
    return answer?.(seen, context) ?? { content: [{ type: 'text', text: `called ${name}` }] }
  }

  function paged(): Server {
    const server = new Server(INFO, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', ({ params }) => {
      const from = Number(params?.cursor ?? 0)
      const to = from + pageSize
      const next = to < tools.length ? { nextCursor: String(to) } : {}
      return { tools: tools.slice(from, to), ...next }
    })
    server.setRequestHandler('tools/call', ({ params }, context) =>
      call(params.name, params.arguments, context),
    )
    return server
  }

  function comparing(): McpServer {
    const server = new McpServer(INFO)
    for (const { name, inputSchema } of tools) {
      const facts = { inputSchema: fromJsonSchema<Record<string, unknown>>(inputSchema) }
      server.registerTool(name, facts, (given, context) => call(name, given, context))
    }
    return server
  }

  const handler = createMcpHandler(comparesHeaders ? comparing : paged, {
    legacy: options.legacy ?? 'reject',
    ...(responseMode ? { responseMode } : {}),
  })
  const listener = getRequestListener((request) => handler.fetch(request))
  const server = await startHttpServer((request, response) => {
    methods.push(String(request.headers['mcp-method'] ?? 'of a session'))
    void listener(request, response)
  }, port)
  return {
    url: `${server.url}/mcp`,
    origin: server.url,
    calls,
    /** All HTTP requests so far, by the header that has the method. */
    methods,
    async stop() {
      await handler.close()
      await server.stop()
    },
  }
}
