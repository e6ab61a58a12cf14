import { isDeepStrictEqual } from 'node:util'
import type { PinnedTool, ToolOf } from '../../platform/tools/tool-definitions.ts'
import { AppError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import { ANSWERING, openMcpSession } from '../../shared/mcp/client.ts'
import type { McpOutcome, McpSession } from '../../shared/mcp/client.ts'
import type { McpToolResult } from '../../shared/mcp/messages.ts'
import { readAddress } from '../../shared/outgoing/address.ts'
import { documentText } from './document-answer.ts'
import { cutResult, toolError } from './tool.ts'
import type { CrewTool, ToolAnswer, ToolCall } from './tool.ts'
import { timeoutMsOf, tokenOf } from './tool-deps.ts'
import type { ToolDeps } from './tool-deps.ts'

const RESPONSE_BYTES_MAX = 4_194_304
const CANCEL_MS = 2000

/** Opens a session with the server of an MCP tool, for one run. */
export const openServer = (deps: ToolDeps, tool: ToolOf<'mcp'>): McpSession =>
  openMcpSession({
    url: readAddress(tool.url, 'The address of the MCP server'),
    token: () => tokenOf(deps, tool.connection),
    guard: deps.guard,
    eras: deps.eras,
    capabilities: ANSWERING,
    responseBytesMax: RESPONSE_BYTES_MAX,
  })

interface McpFunction {
  readonly key: string
  /** As the model sees it. */
  readonly name: string
  readonly pinned: PinnedTool
}

/** Creates the function that calls one tool of an MCP server. */
export function createMcpTool(
  { session, ...deps }: Pick<ToolDeps, 'readDocument'> & { readonly session: McpSession },
  tool: ToolOf<'mcp'>,
  { key, name, pinned }: McpFunction,
): CrewTool {
  return {
    name,
    key,
    type: 'mcp',
    description: pinned.description ?? '',
    parameters: pinned.input_schema,
    timeoutMs: timeoutMsOf(tool),
    server: new URL(tool.url).host,
    async call(call) {
      const { signal } = call
      const outcome = await ask(session, pinned, call)
      if (!('result' in outcome)) return outcome
      return toAnswer(outcome.result, (given) => documentText(given, deps.readDocument, signal))
    },
    cancel: (taskId) => session.cancelTask(taskId, AbortSignal.timeout(CANCEL_MS)),
  }
}

/** Calls a tool, calls it again with what it asked for, or asks for the task that it began. */
async function ask(
  session: McpSession,
  pinned: PinnedTool,
  { arguments: given, idempotencyKey, signal, from = {} }: ToolCall,
): Promise<McpOutcome> {
  const { taskId, pollMs, responses: inputResponses, requestState, answered = [] } = from
  if (taskId === undefined) {
    await refuseChange(session, pinned, signal)
    const meta = { 'idempotency-key': idempotencyKey }
    const { name, input_schema: inputSchema } = pinned
    const call = { name, arguments: given, inputSchema, meta, inputResponses, requestState }
    return session.callTool(call, signal)
  }
  if (inputResponses) {
    await session.answerTask(taskId, inputResponses, signal)
    return { taskId, pollMs }
  }
  const outcome = await session.pollTask(taskId, signal)
  if ('result' in outcome || !outcome.questions) return outcome
  // What was answered may be asked for until the server has taken note.
  const open = Object.entries(outcome.questions).filter(([key]) => !answered.includes(key))
  return { ...outcome, questions: open.length > 0 ? Object.fromEntries(open) : undefined }
}

/**
 * Asks the server before each call whether the tool still takes what the version was published
 * with: it may change in the middle of a run.
 */
async function refuseChange(
  session: McpSession,
  { name, input_schema }: PinnedTool,
  signal: AbortSignal,
): Promise<void> {
  const now = (await session.listTools(signal)).find((each) => each.name === name)
  if (now && isDeepStrictEqual(now.inputSchema, input_schema)) return
  throw toolError(
    `${name} was not called: the server ` +
      (now ? 'has changed its input schema ' : 'has it no more ') +
      'since the version was published. Publish a new version to use it as it is now.',
  )
}

type Read = (document: Parameters<typeof documentText>[0]) => Promise<string>

async function toAnswer(
  { content, structuredContent, isError }: McpToolResult,
  read: Read,
): Promise<ToolAnswer> {
  const parts: string[] = []
  for (const { type, text, uri, resource } of content) {
    if (type === 'text' && typeof text === 'string') parts.push(text)
    else if (isObject(resource)) parts.push(await resourceText(resource, read))
    else parts.push(`(${type}: ${typeof uri === 'string' ? uri : 'it cannot be shown as text'})`)
  }
  const text =
    parts.length === 0 && structuredContent !== undefined
      ? JSON.stringify(structuredContent)
      : parts.join('\n')
  return { text: cutResult(text === '' ? '(The result is empty.)' : text), isError }
}

/** A document among others that cannot be read is named: the others are the answer. */
async function resourceText(
  { text, blob, uri, mimeType }: Readonly<Record<string, unknown>>,
  read: Read,
): Promise<string> {
  if (typeof text === 'string') return text
  const address = typeof uri === 'string' ? uri : ''
  const name = address.split('/').at(-1) || 'of the resource'
  if (typeof blob !== 'string') return `(resource: ${address || 'it cannot be shown as text'})`
  try {
    const mediaType = typeof mimeType === 'string' ? mimeType : ''
    return await read({ name, mediaType, bytes: Buffer.from(blob, 'base64') })
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'bad_gateway') return `(${thrown.message})`
    throw thrown
  }
}
