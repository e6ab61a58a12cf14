import * as v from 'valibot'
import { dictionary } from '../dictionary.ts'

/** The version in which this client asks for a session, and those that it understands in one. */
export const PROTOCOL_VERSION = '2025-06-18'
export const PROTOCOL_VERSIONS: readonly string[] = [PROTOCOL_VERSION, '2025-11-25', '2025-03-26']

const id = v.union([v.number(), v.string()])

/** A response to one of our requests, or a request or notification of the server. */
export const message = v.union([
  v.object({ id, result: v.record(v.string(), v.unknown()) }),
  v.object({
    id: v.nullish(id),
    error: v.object({ code: v.number(), message: v.string(), data: v.optional(v.unknown()) }),
  }),
  v.object({ id: v.optional(id), method: v.string() }),
])
/** A message of a server. */
export type McpMessage = v.InferOutput<typeof message>

/** A request of a server, or without an id a notification. */
export type McpRequest = Extract<McpMessage, { readonly method: string }>

/** The refusal of a server that does not speak the version of a request. */
export const versionRefusal = v.object({
  error: v.object({
    code: v.literal(-32_022),
    data: v.object({ supported: v.array(v.string()) }),
  }),
})

/** The result of `server/discover`. */
export const discovered = v.object({
  result: v.object({ supportedVersions: v.array(v.string()) }),
})

/** The result of `initialize`. */
export const initialized = v.object({
  protocolVersion: v.string(),
  serverInfo: v.optional(v.object({ name: v.string() })),
})

const tool = v.object({
  name: v.string(),
  description: v.optional(v.string()),
  inputSchema: v.record(v.string(), v.unknown()),
})
/** A tool as a server describes it. */
export type McpTool = v.InferOutput<typeof tool>

/** A page of the result of `tools/list`. */
export const toolPage = v.object({ tools: v.array(tool), nextCursor: v.optional(v.string()) })

/** The result of `tools/call`. Parts that are no texts keep their type only. */
export const toolResult = v.object({
  content: v.optional(v.array(v.looseObject({ type: v.string() })), []),
  structuredContent: v.optional(v.unknown()),
  isError: v.optional(v.boolean(), false),
})
/** What a tool answered. */
export type McpToolResult = v.InferOutput<typeof toolResult>

/** Any result: what is not `complete` is not the result yet. */
export const anyResult = v.looseObject({ resultType: v.optional(v.string(), 'complete') })

/** What a server wants to know before it answers. */
export const inputRequired = v.object({
  inputRequests: v.optional(dictionary(v.string(), v.looseObject({ method: v.string() })), {}),
  requestState: v.optional(v.string()),
})

/** A task that does the work of a call (the extension `io.modelcontextprotocol/tasks`). */
export const mcpTask = v.object({
  taskId: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  status: v.picklist(['working', 'input_required', 'completed', 'cancelled', 'failed']),
  pollIntervalMs: v.optional(v.number(), 2000),
  result: v.optional(v.unknown()),
  error: v.optional(v.object({ message: v.string() })),
})

const questions = dictionary(
  v.string(),
  v.object({ message: v.string(), schema: v.record(v.string(), v.unknown()) }),
)
/** What a server asks, with the schemas of the answers, by its own keys. */
export type Questions = v.InferOutput<typeof questions>

/** What a server wants before it answers a call: nothing of a task that was cancelled. */
export const mcpPause = v.object({
  questions: v.optional(questions),
  /** What it wants back as it was. */
  requestState: v.optional(v.string()),
  /** Time: it is asked again for its task. */
  taskId: v.optional(v.string()),
  pollMs: v.optional(v.number()),
})
/** What a server wants before it answers a call. */
export type McpPause = v.InferOutput<typeof mcpPause>
