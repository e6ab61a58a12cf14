import { isDeepStrictEqual } from 'node:util'
import type { PinnedTool, ToolOf } from '../../platform/tools/tool-definitions.ts'
import { AppError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import { openMcpSession } from '../../shared/mcp/client.ts'
import type { McpSession } from '../../shared/mcp/client.ts'
import type { McpToolResult } from '../../shared/mcp/messages.ts'
import { readAddress } from '../../shared/outgoing/address.ts'
import { documentText } from './document-answer.ts'
import { cutResult, toolError } from './tool.ts'
import type { CrewTool, ToolAnswer } from './tool.ts'
import { timeoutMsOf, tokenOf } from './tool-deps.ts'
import type { ToolDeps } from './tool-deps.ts'

const RESPONSE_BYTES_MAX = 4_194_304

/** Opens a session with the server of an MCP tool, for one run. */
export const openServer = (deps: ToolDeps, tool: ToolOf<'mcp'>): McpSession =>
  openMcpSession({
    url: readAddress(tool.url, 'The address of the MCP server'),
    token: () => tokenOf(deps, tool.connection),
    guard: deps.guard,
    eras: deps.eras,
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
    async call({ arguments: given, idempotencyKey, signal }) {
      await refuseChange(session, pinned, signal)
      const meta = { 'idempotency-key': idempotencyKey }
      const { name: own, input_schema: inputSchema } = pinned
      const call = { name: own, arguments: given, inputSchema, meta }
      const result = await session.callTool(call, signal)
      return toAnswer(result, (given) => documentText(given, deps.readDocument, signal))
    },
  }
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
