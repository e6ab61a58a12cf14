import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { PinnedTool, Tool, ToolOf } from '../../../platform/tools/tool-definitions.ts'
import { didYouMean } from '../../../shared/closest.ts'
import { deadline } from '../../../shared/deadline.ts'
import { AppError, toError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import { schemaProblem } from '../../../shared/json-schema.ts'
import { openMcpSession } from '../../../shared/mcp/client.ts'
import type { McpTool } from '../../../shared/mcp/messages.ts'
import type { McpEras } from '../../../shared/mcp/per-request.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import { sendRequest } from '../../../shared/outgoing/send-request.ts'
import { baseUrlOf, readAllOperations, readOperations } from './read-openapi.ts'
import { NO_CONNECTIONS } from './pin-connections.ts'
import type { PinConnections } from './pin-connections.ts'
import { standAlone } from './local-refs.ts'
import type { Json } from './local-refs.ts'

const TIMEOUT_MS = 15_000
const DOCUMENT_BYTES_MAX = 16_777_216
// PostgreSQL stores neither NUL nor half a surrogate pair.
const UNSTORABLE = /\p{Surrogate}|\0/gu
const LIST_BYTES_MAX = 8_388_608
const SCHEMA_BYTES_MAX = 32_768
const PINS_BYTES_MAX = 131_072
const DESCRIPTION_CHARACTERS_MAX = 4000

/** The surroundings in which tools are read. */
export interface PinDeps {
  readonly guard: OutgoingGuard
  /** What is known of MCP servers so far. @default nothing */
  readonly eras?: McpEras
  /** The one whose tools they are: nobody else waits for its look-ups. */
  readonly subject: string
  /** The connections that tools may name. @default none */
  readonly connections?: PinConnections
  /** Reads the inputs of an automation, or why it cannot be used. @default leaves it as it is */
  readonly pinAutomation?: (tool: ToolOf<'automation'>) => Promise<ToolOf<'automation'> | string>
  /** For each tool. @default 15_000 */
  readonly timeoutMs?: number
}

/**
 * Reads the schemas of a version's MCP and HTTP tools, and returns the definition with them: from
 * then on agents see the tools as they were. Raises `unprocessable` that names every tool that
 * cannot be used.
 */
export async function pinTools(deps: PinDeps, definition: CrewDefinition): Promise<CrewDefinition> {
  const { tools } = definition
  if (!tools) return definition
  const read = await Promise.all(
    Object.entries(tools).map(async ([key, tool]) => [key, await pinOne(deps, key, tool)] as const),
  )
  const problems = read.flatMap(([key, pinned]) =>
    typeof pinned === 'string' ? [`tools.${key}: ${pinned}`] : [],
  )
  const entries = read.filter((each): each is [string, Tool] => typeof each[1] !== 'string')
  const size = JSON.stringify(entries.map(([, tool]) => 'pinned' in tool && tool.pinned)).length
  if (size > PINS_BYTES_MAX) {
    problems.push(
      `tools: their schemas have ${size} bytes, and ${PINS_BYTES_MAX} are allowed. ` +
        'Leave out tools and operations that no agent needs.',
    )
  }
  if (problems.length === 0) return { ...definition, tools: Object.fromEntries(entries) }
  throw new AppError('unprocessable', `The tools cannot be used: ${problems.join('; ')}`, {
    details: { problems },
  })
}

/** Returns the tool with its schemas, or why they cannot be had. */
async function pinOne(deps: PinDeps, key: string, tool: Tool): Promise<Tool | string> {
  if (tool.type === 'automation') return deps.pinAutomation?.(tool) ?? tool
  if (tool.type !== 'mcp' && tool.type !== 'http') return tool
  return reach<Tool>(deps, [key, tool], async (signal, check) => {
    if (tool.type === 'mcp') return pinMcp(deps, tool, signal)
    const pinned = await pinHttp(deps, tool, signal)
    await check(pinned)
    return pinned
  })
}

/** A tool that is elsewhere. */
type RemoteTool = ToolOf<'mcp'> | ToolOf<'http'>
/** A tool that offers something to choose from, or to look at. */
export type OfferingTool = RemoteTool | ToolOf<'automation'>

/** A tool of an MCP server, an operation of an OpenAPI document, or an automation. */
export interface Offer {
  readonly name: string
  readonly description: string
  readonly inputSchema?: Json
  /** Why agents cannot use it. */
  readonly problem?: string
}

/** Returns all that a tool offers, by name; or why that cannot be had. */
export async function listOffers(
  deps: PinDeps,
  key: string,
  tool: OfferingTool,
): Promise<Offer[] | string> {
  if (tool.type === 'automation') {
    const read = (await deps.pinAutomation?.(tool)) ?? tool
    if (typeof read === 'string') return read
    const { description = '', input_schema: inputSchema = {} } = read.pinned ?? {}
    return [{ name: tool.automation, description, inputSchema }]
  }
  return reach(deps, [key, tool], async (signal) => {
    const offers =
      tool.type === 'mcp'
        ? (await listMcpTools(deps, tool, signal)).map(mcpOffer)
        : readAllOperations(await documentOf(deps, tool, signal))
    return offers.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  })
}

function mcpOffer({ name, description = '', inputSchema }: McpTool): Offer {
  const offer = { name, description: storable(description), inputSchema }
  try {
    refuseSchema(name, inputSchema)
    return offer
  } catch (thrown) {
    return { ...offer, problem: toError(thrown).message }
  }
}

type Check = (tool: Tool) => Promise<void>

/** Does something with the address of a tool; or returns why it cannot be done. */
async function reach<Found>(
  { timeoutMs = TIMEOUT_MS, connections = NO_CONNECTIONS }: PinDeps,
  [key, tool]: readonly [string, RemoteTool],
  work: (signal: AbortSignal, check: Check) => Promise<Found>,
): Promise<Found | string> {
  const where = tool.type === 'mcp' ? tool.url : (tool.openapi_url ?? tool.base_url)
  const name = where === undefined ? 'The document' : new URL(where).host
  const check: Check = (each) => connections.check(key, each)
  try {
    return await deadline<Found>({ name, timeoutMs }, async (signal) => {
      // Before a token goes anywhere; an HTTP tool has its addresses only afterwards.
      await check(tool)
      return work(signal, check)
    })
  } catch (thrown) {
    const error = toError(thrown)
    const isSystems = 'code' in error && !(error instanceof AppError)
    return isSystems ? `${name} cannot be reached (${String(error.code)})` : error.message
  }
}

/** Returns the tools of an MCP server, with the token of its connection. */
async function listMcpTools(
  deps: PinDeps,
  { connection, url }: ToolOf<'mcp'>,
  signal: AbortSignal,
): Promise<McpTool[]> {
  const token =
    connection === undefined ? undefined : await deps.connections?.tokenOf(connection, signal)
  const session = openMcpSession({
    url: new URL(url),
    token: () => token,
    guard: subjectGuard(deps),
    eras: deps.eras,
    responseBytesMax: LIST_BYTES_MAX,
  })
  try {
    return await session.listTools(signal)
  } finally {
    await session.close(signal)
  }
}

async function pinMcp(
  deps: PinDeps,
  tool: ToolOf<'mcp'>,
  signal: AbortSignal,
): Promise<ToolOf<'mcp'>> {
  const offered = await listMcpTools(deps, tool, signal)
  const names = offered.map(({ name }) => name)
  const tools = tool.tools.map((name): PinnedTool => {
    const found = offered.filter((each) => each.name === name)
    const [one] = found
    if (!one) throw new Error(`the server has no tool ${name}.${didYouMean(name, names)}`)
    if (found.length > 1) throw new Error(`the server has ${found.length} tools named ${name}`)
    const { description, inputSchema } = one
    refuseSchema(name, inputSchema)
    return {
      name,
      input_schema: inputSchema,
      ...(description === undefined ? {} : { description: storable(description) }),
    }
  })
  return { ...tool, pinned: { tools } }
}

async function pinHttp(
  deps: PinDeps,
  tool: ToolOf<'http'>,
  signal: AbortSignal,
): Promise<ToolOf<'http'>> {
  const { openapi_url: readFrom, base_url: given, operations: names } = tool
  const document = await documentOf(deps, tool, signal)
  const operations = readOperations(document, names)
  for (const { name, input_schema } of operations) refuseSchema(name, input_schema)
  const base_url = baseUrlOf(document, { given, readFrom })
  const problem = deps.guard.problemOf(new URL(base_url))
  if (problem !== undefined) throw new Error(problem)
  return { ...tool, pinned: { base_url, operations } }
}

async function documentOf(
  deps: PinDeps,
  { openapi, openapi_url: readFrom = '' }: ToolOf<'http'>,
  signal: AbortSignal,
): Promise<Json> {
  if (openapi) return openapi
  const url = new URL(readFrom)
  const { status, body, isCut } = await sendRequest({
    url,
    headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    responseBytesMax: DOCUMENT_BYTES_MAX,
    signal,
    route: await deps.guard.pin(url, { subject: deps.subject, signal }),
  })
  if (status !== 200) throw new Error(`${url.host} answers with HTTP ${status}, not the document`)
  if (isCut) throw new Error(`the document has more than ${DOCUMENT_BYTES_MAX} bytes`)
  const document = parse(body.toString('utf8'))
  if (isObject(document)) return document
  throw new Error('the document is no JSON object; write one that is YAML as JSON')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Providers of models refuse large schemas, and no run should carry them. */
function refuseSchema(name: string, schema: Json): void {
  const size = JSON.stringify(schema).length
  if (size > SCHEMA_BYTES_MAX) {
    throw new Error(
      `the input schema of ${name} has ${size} bytes, and ${SCHEMA_BYTES_MAX} are allowed. ` +
        'Make it smaller, or leave it out',
    )
  }
  if (/\\u(0000|d[89a-f])/.test(JSON.stringify(schema))) {
    throw new Error(`the input schema of ${name} has characters that cannot be stored`)
  }
  if (schema['type'] !== 'object') {
    throw new Error(`the input schema of ${name} must be of type object`)
  }
  const unusable = referenceProblem(schema) ?? schemaProblem(schema)
  if (unusable !== undefined) throw new Error(`the input schema of ${name}: ${unusable}`)
}

/** Returns why a schema does not stand alone. */
function referenceProblem(schema: Json): string | undefined {
  try {
    standAlone(schema, schema)
    return undefined
  } catch (thrown) {
    return toError(thrown).message
  }
}

const storable = (text: string): string =>
  text.replace(UNSTORABLE, '\ufffd').slice(0, DESCRIPTION_CHARACTERS_MAX)

/** The guard, with the turns of one organization. */
const subjectGuard = ({ guard, subject }: PinDeps): OutgoingGuard => ({
  ...guard,
  pin: (url, asker) => guard.pin(url, { ...asker, subject }),
})
