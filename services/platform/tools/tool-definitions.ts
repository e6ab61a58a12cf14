import * as v from 'valibot'
import { closedObject } from '../../shared/describe-issue.ts'
import { isObject } from '../../shared/is-object.ts'
import { addressProblem } from '../../shared/outgoing/address.ts'
import { isPlace } from '../../shared/outgoing/allowed-places.ts'
import { someText } from '../../shared/schemas.ts'
import { callApproval } from '../approvals/call-approval.ts'

const TIMEOUT_SECONDS_MAX = 600
const TOOLS_MAX = 50
const SCHEMA_BYTES_MAX = 32_768

/** The name of a tool or of a connection. */
export const toolKey = v.pipe(
  v.string('must be a text'),
  v.regex(
    /^[A-Za-z][\w-]{0,63}$/,
    'must start with a letter and hold at most 64 letters, digits, _ and -',
  ),
)
/** Where something is, as people say: `eu`, `us-east`. */
export const regionLabel = v.pipe(
  v.string('must be a text'),
  v.regex(
    /^[a-z0-9-]{1,40}$/,
    'must have 1 to 40 lowercase letters, digits and hyphens, such as eu or us-east',
  ),
)
const names = (max: number) =>
  v.pipe(
    v.array(someText(128), 'must be a list'),
    v.minLength(1, 'must not be empty'),
    v.maxLength(max, `must have at most ${max} entries`),
    v.check((list) => new Set(list).size === list.length, 'must not name one twice'),
  )
const url = v.pipe(
  someText(2000),
  v.check(
    (given) => addressProblem(given) === undefined,
    ({ input }) => addressProblem(input) ?? '',
  ),
)

const common = {
  ...callApproval,
  /** The longest that one call may take. @default 30 */
  timeout_seconds: v.optional(
    v.pipe(
      v.number('must be a number'),
      v.integer('must be a whole number'),
      v.minValue(1, 'must be at least 1'),
      v.maxValue(TIMEOUT_SECONDS_MAX, `must be at most ${TIMEOUT_SECONDS_MAX}`),
    ),
  ),
}
/** The connection of the organization whose access token goes with each call. */
const connection = v.optional(toolKey)
/** Where what a tool calls is; under a rule of the organization, one without it is outside. */
const region = v.optional(regionLabel)

const inputSchema = v.pipe(
  v.record(v.string(), v.unknown(), 'must be a JSON Schema'),
  v.check(
    (schema) => JSON.stringify(schema).length <= SCHEMA_BYTES_MAX,
    `must have at most ${SCHEMA_BYTES_MAX} bytes`,
  ),
)
const description = v.optional(v.pipe(v.string('must be a text'), v.maxLength(8192)))

const pinnedTool = closedObject({ name: someText(128), description, input_schema: inputSchema })
/** A tool of an MCP server as it was when the version was published. */
export type PinnedTool = v.InferOutput<typeof pinnedTool>

/** Where an argument of an operation goes. */
export const PARAMETER_PLACES = ['path', 'query', 'header'] as const

const pinnedOperation = closedObject({
  name: someText(128),
  description,
  method: v.picklist(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
  /** With places in braces: `/pets/{petId}`. */
  path: someText(2000),
  /** Where its arguments go; `body` goes into the body. */
  parameters: v.array(closedObject({ name: someText(128), in: v.picklist(PARAMETER_PLACES) })),
  input_schema: inputSchema,
})
/** An operation as the OpenAPI document had it when the version was published. */
export type PinnedOperation = v.InferOutput<typeof pinnedOperation>

const mcp = closedObject({
  type: v.literal('mcp'),
  url,
  /** The tools of the server that agents may use. */
  tools: names(100),
  connection,
  region,
  ...common,
  /** Written when the version is published. */
  pinned: v.optional(closedObject({ tools: v.array(pinnedTool) })),
})

const http = v.pipe(
  closedObject({
    type: v.literal('http'),
    /** An OpenAPI 3.x document, or where it is read when the version is published. */
    openapi: v.optional(v.record(v.string(), v.unknown(), 'must be an OpenAPI document')),
    openapi_url: v.optional(url),
    /** @default the first of the document's `servers` */
    base_url: v.optional(url),
    /** The operations that agents may use, by `operationId`. */
    operations: names(100),
    connection,
    region,
    ...common,
    /** Written when the version is published. */
    pinned: v.optional(closedObject({ base_url: url, operations: v.array(pinnedOperation) })),
  }),
  v.check(
    ({ openapi, openapi_url }) => (openapi === undefined) !== (openapi_url === undefined),
    'needs exactly one of openapi and openapi_url',
  ),
)

const fetchTool = closedObject({
  type: v.literal('fetch'),
  /** Hosts (`docs.example.com`, `*.example.com`), and beginnings of URLs. */
  allow: v.pipe(
    v.array(
      v.pipe(
        someText(2000),
        v.check(
          isPlace,
          'must be a host such as docs.example.com or *.example.com, or the beginning of a URL ' +
            'such as https://example.com/help/',
        ),
      ),
      'must be a list',
    ),
    v.minLength(1, 'must not be empty'),
    v.maxLength(100, 'must have at most 100 entries'),
  ),
  ...common,
})

const automation = closedObject({
  type: v.literal('automation'),
  /** The slug of the automation of the same organization that a call starts. */
  automation: v.pipe(someText(52), v.regex(/^[a-z0-9-]+$/, 'must be the slug of an automation')),
  ...callApproval,
  /** Written when the version is published. */
  pinned: v.optional(closedObject({ description: someText(8192), input_schema: inputSchema })),
})

const BUILT_IN_TYPES = ['time', 'calculator', 'json_query'] as const
const builtIn = BUILT_IN_TYPES.map((type) =>
  closedObject({ type: v.literal(type), ...callApproval }),
)

/** The types that a tool may have. */
const TOOL_TYPES = ['mcp', 'http', 'fetch', 'automation', ...BUILT_IN_TYPES] as const

const tool = v.pipe(
  v.variant('type', [mcp, http, fetchTool, automation, ...builtIn], ({ path }) =>
    path?.at(-1)?.key === 'type' ? `must be one of ${TOOL_TYPES.join(', ')}` : 'must be an object',
  ),
  v.check(
    (given) => !('region' in given && given.region && given.connection),
    'must not have a region beside a connection: that of the connection counts',
  ),
)
/** A tool of a version. */
export type Tool = v.InferOutput<typeof tool>
/** A tool of one type. */
export type ToolOf<Type extends Tool['type']> = Extract<Tool, { type: Type }>

/** The tools of a version, by the names by which its agents name them. */
export const toolDefinitions = v.pipe(
  v.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object'),
  v.record(toolKey, tool),
  v.check(
    (tools) => Object.keys(tools).length <= TOOLS_MAX,
    `must have at most ${TOOLS_MAX} tools`,
  ),
)
/** The tools of a version. */
export type Tools = v.InferOutput<typeof toolDefinitions>
