import { isObject } from '../is-object.ts'

/** The version of the protocol without sessions: each request says what it needs. */
export const PER_REQUEST_VERSION = '2026-07-28'

const PREFIX = 'io.modelcontextprotocol/'
const ERAS_MAX = 1000
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~\w]{1,64}$/
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const ENCODED = '=?base64?'

type Fields = Readonly<Record<string, unknown>>

/** How a server is spoken to: within a session (2025), or by requests that stand alone (2026). */
type McpEra = 'session' | 'per-request'

/** What is known of the servers that a process has talked to. */
export interface McpEras {
  /** Returns how a server is spoken to; undefined for one that was not asked yet. */
  eraOf(url: URL): McpEra | undefined
  learn(url: URL, era: McpEra): void
}

/** Remembers how servers are spoken to, so that each is asked once. */
export function createMcpEras(): McpEras {
  const eras = new Map<string, McpEra>()
  return {
    eraOf: ({ href }) => eras.get(href),
    learn({ href }, era) {
      eras.delete(href)
      const [oldest] = eras.keys()
      if (oldest !== undefined && eras.size >= ERAS_MAX) eras.delete(oldest)
      eras.set(href, era)
    },
  }
}

/** A request that needs no session. */
interface PerRequest {
  readonly method: string
  readonly params: Fields
  readonly clientInfo: Fields
  readonly capabilities: Fields
  /** The schema of a tool's arguments, which may want some of them in headers. */
  readonly inputSchema?: Fields | undefined
}

/** Returns the parameters of a request that needs no session, and the headers that repeat them. */
export function toPerRequest(request: PerRequest) {
  const { method, params, clientInfo, capabilities, inputSchema } = request
  // Requests about a task are routed by its id.
  const { taskId, name = taskId, arguments: given, _meta: meta } = params
  return {
    params: {
      ...params,
      _meta: {
        ...(isObject(meta) ? meta : {}),
        [`${PREFIX}protocolVersion`]: PER_REQUEST_VERSION,
        [`${PREFIX}clientInfo`]: clientInfo,
        [`${PREFIX}clientCapabilities`]: capabilities,
      },
    },
    headers: {
      ...argumentHeaders(inputSchema, given),
      'mcp-protocol-version': PER_REQUEST_VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': toHeader(name) } : {}),
    },
  }
}

/** The arguments that a schema marks with `x-mcp-header`, at any depth of its properties. */
function argumentHeaders(schema: unknown, given: unknown): Record<string, string> {
  const properties = isObject(schema) ? schema['properties'] : undefined
  if (!isObject(properties) || !isObject(given)) return {}
  const own = Object.entries(properties).flatMap(([key, property]): [string, string][] => {
    if (!isObject(property) || !Object.hasOwn(given, key)) return []
    const { [key]: value } = given
    const header = property['x-mcp-header']
    const isWanted =
      typeof header === 'string' &&
      HEADER_NAME.test(header) &&
      (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value))
    return [
      ...(isWanted ? [[`mcp-param-${header}`, toHeader(String(value))] as [string, string]] : []),
      ...Object.entries(argumentHeaders(property, value)),
    ]
  })
  return Object.fromEntries(own)
}

/** What no header can have goes as Base64. */
const toHeader = (value: string): string =>
  PLAIN.test(value) && !value.startsWith(ENCODED)
    ? value
    : `${ENCODED}${Buffer.from(value).toString('base64')}?=`
