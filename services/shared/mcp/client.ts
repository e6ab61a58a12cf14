import type * as v from 'valibot'
import { toError } from '../errors.ts'
import { createConnection } from './connection.ts'
import { readQuestions } from './elicitation.ts'
import { anyResult, inputRequired, mcpTask, toolPage, toolResult } from './messages.ts'
import type { McpPause, McpTool, McpToolResult } from './messages.ts'
import { badAnswer } from './post-message.ts'
import type { McpServer } from './post-message.ts'
import { readResult, resultOf } from './results.ts'

const PAGES_MAX = 50
const POLL_MS_MIN = 100
const POLL_MS_MAX = 30_000

type Fields = Readonly<Record<string, unknown>>

/** What a client says that answers questions and awaits tasks, for `capabilities` of a server. */
export const ANSWERING: Fields = {
  elicitation: { form: {} },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
}

interface McpCall {
  readonly name: string
  readonly arguments: Fields
  /** What the server says that the tool takes. */
  readonly inputSchema: Fields
  /** Facts for the server, beside the arguments. */
  readonly meta: Fields
  /** Of a call that is made again: what the server asked for, by its keys. */
  readonly inputResponses?: Fields | undefined
  /** Of a call that is made again: what the server wants back as it was. */
  readonly requestState?: string | undefined
}

/** What a call came to: what the tool answered, or what the server wants first. */
export type McpOutcome = { readonly result: McpToolResult } | McpPause

/** A conversation with an MCP server. */
export interface McpSession {
  /** Lists the tools of the server, over all pages. */
  listTools(signal: AbortSignal): Promise<McpTool[]>
  /** Calls a tool once. A tool that fails is a result; raises for a server that does. */
  callTool(call: McpCall, signal: AbortSignal): Promise<McpOutcome>
  /** Asks how a task is doing that a call began. Raises as `callTool` does. */
  pollTask(taskId: string, signal: AbortSignal): Promise<McpOutcome>
  /** Answers what a task asked. */
  answerTask(taskId: string, inputResponses: Fields, signal: AbortSignal): Promise<void>
  /** Asks the server to give a task up. Never raises. */
  cancelTask(taskId: string, signal: AbortSignal): Promise<void>
  /** Tells the server that the session is over. Never raises. */
  close(signal: AbortSignal): Promise<void>
}

/**
 * Creates a conversation with an MCP server over streamable HTTP, which begins with the first call:
 * by requests that stand alone (2026-07-28), or in a session with a server that takes older
 * versions only. Every method raises `bad_gateway` when the server cannot be used, and the reason
 * of the signal.
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
    async callTool({ inputSchema, meta: _meta, ...call }, signal) {
      const params = { ...call, _meta }
      const asked = { method: 'tools/call', params, inputSchema }
      const result = resultOf(server, await connection.request(asked, signal), anyResult)
      return toOutcome(server, call.name, result)
    },
    async pollTask(taskId, signal) {
      const asked = { method: 'tasks/get', params: { taskId } }
      const result = resultOf(server, await connection.request(asked, signal), anyResult)
      return toTaskOutcome(server, result, taskId)
    },
    async answerTask(taskId, inputResponses, signal) {
      const asked = { method: 'tasks/update', params: { taskId, inputResponses } }
      resultOf(server, await connection.request(asked, signal), anyResult)
    },
    async cancelTask(taskId, signal) {
      const asked = { method: 'tasks/cancel', params: { taskId } }
      await connection.request(asked, signal).catch(() => {})
    },
    close: (signal) => connection.close(signal),
  }
}

type AnyResult = v.InferOutput<typeof anyResult>

function toOutcome(server: McpServer, name: string, result: AnyResult): McpOutcome {
  const { resultType } = result
  if (resultType === 'complete') return { result: readResult(server, toolResult, result) }
  if (resultType === 'task') return taskPause(readResult(server, mcpTask, result))
  if (resultType === 'input_required') return ask(server, result)
  throw badAnswer(server, `a result of ${name} of the type ${resultType.slice(0, 64)}`)
}

function toTaskOutcome(server: McpServer, result: AnyResult, asked: string): McpOutcome {
  const task = readResult(server, mcpTask, result)
  const { taskId, status, error } = task
  if (taskId !== asked) throw badAnswer(server, 'a task that was not asked about')
  if (status === 'completed') return { result: readResult(server, toolResult, task.result) }
  if (status === 'failed') {
    throw badAnswer(server, `a task that failed: ${error?.message.slice(0, 500) ?? 'of itself'}`)
  }
  if (status === 'cancelled') return {}
  const { inputRequests } = result
  // A task that was answered a moment ago may ask for nothing any more.
  const isAsking = status === 'input_required' && Object.keys(inputRequests ?? {}).length > 0
  return { ...(isAsking && ask(server, { inputRequests })), ...taskPause(task) }
}

/** How often a task is asked for is the wish of its server, within reason. */
const taskPause = ({ taskId, pollIntervalMs }: v.InferOutput<typeof mcpTask>): McpPause => ({
  taskId,
  pollMs: Math.min(Math.max(pollIntervalMs, POLL_MS_MIN), POLL_MS_MAX),
})

function ask(server: McpServer, result: unknown): McpPause {
  const { inputRequests, requestState } = readResult(server, inputRequired, result)
  try {
    const questions = readQuestions(inputRequests, requestState)
    if (Object.keys(questions).length > 0) return { questions, requestState }
    if (requestState !== undefined) return { requestState }
    throw new Error('a request for no input at all')
  } catch (thrown) {
    const todo = 'Let the tool take what it needs as arguments.'
    throw badAnswer(server, `${toError(thrown).message}, in the middle of a call`, todo)
  }
}
