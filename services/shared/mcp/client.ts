import type { AppError } from '../errors.ts'
import { createConnection } from './connection.ts'
import { toolPage, toolResult } from './messages.ts'
import type { McpTool, McpToolResult } from './messages.ts'
import { badAnswer } from './post-message.ts'
import type { McpServer } from './post-message.ts'
import { resultOf } from './results.ts'

const PAGES_MAX = 50

interface McpCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** What the server says that the tool takes. */
  readonly inputSchema: Readonly<Record<string, unknown>>
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

/**
 * Creates a conversation with an MCP server over streamable HTTP, which begins with the first call:
 * in a session (2025-06-18), or without one with a server that takes 2026-07-28 alone. Every method
 * raises `bad_gateway` when the server cannot be used, and the reason of the signal.
 */
export function openMcpSession(server: McpServer): McpSession {
  const connection = createConnection(server)
  return {
    async listTools(signal) {
      const tools: McpTool[] = []
      let cursor: string | undefined
      for (let pages = 0; pages < PAGES_MAX; pages += 1) {
        const params = cursor === undefined ? {} : { cursor }
        const answer = await connection.request({ method: 'tools/list', params }, signal)
        const page = resultOf(server, answer, toolPage)
        tools.push(...page.tools)
        cursor = page.nextCursor
        if (cursor === undefined) return tools
      }
      throw badAnswer(server, `a list of tools with more than ${PAGES_MAX} pages`)
    },
    async callTool({ name, arguments: given, inputSchema, meta }, signal) {
      const params = { name, arguments: given, _meta: meta }
      const asked = { method: 'tools/call', params, inputSchema }
      const result = resultOf(server, await connection.request(asked, signal), toolResult)
      if (result.resultType !== 'complete') throw unfinished(server, name, result.resultType)
      return result
    },
    close: (signal) => connection.close(signal),
  }
}

/** A server that wants something before it answers would wait for ever. */
function unfinished(server: McpServer, name: string, resultType: string): AppError {
  return resultType === 'input_required'
    ? badAnswer(
        server,
        `a request for input in the middle of ${name} (input_required)`,
        'No person can answer here: let the tool take all that it needs as arguments.',
      )
    : badAnswer(
        server,
        `a result of ${name} of the type ${resultType.slice(0, 64)}, which is not known`,
        'Let the tool answer when it is done, without a task.',
      )
}
