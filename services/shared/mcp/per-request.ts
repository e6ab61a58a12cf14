import { isObject } from '../is-object.ts'

/** The version of the protocol without sessions: each request says what it needs. */
export const PER_REQUEST_VERSION = '2026-07-28'

const PREFIX = 'io.modelcontextprotocol/'
const ERAS_MAX = 1000
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~\w]{1,64}$/
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const ENCODED = '=?base64?'

type Fields = Readonly<Record<string, unknown>>

/** What is known of the servers that a process has talked to. */
export interface McpEras {
  /** Returns true for a server that takes no sessions. */
  isPerRequest(url: URL): boolean
  learn(url: URL, isPerRequest: boolean): void
}

/** Remembers which servers take no sessions, so that each is asked once. */
export function createMcpEras(): McpEras {
  const perRequest = new Set<string>()
  return {
    isPerRequest: ({ href }) => perRequest.has(href),
    learn({ href }, isPerRequest) {
      perRequest.delete(href)
      const [oldest] = perRequest
      if (oldest !== undefined && perRequest.size >= ERAS_MAX) perRequest.delete(oldest)
      if (isPerRequest) perRequest.add(href)
    },
  }
}

/** A request that needs no session. */
interface PerRequest {
  readonly method: string
  readonly params: Fields
  readonly clientInfo: Fields
  /** The schema of a tool's arguments, which may want some of them in headers. */
  readonly inputSchema?: Fields | undefined
}

/** Returns the parameters of a request that needs no session, and the headers that repeat them. */
export function toPerRequest({ method, params, clientInfo, inputSchema }: PerRequest) {
  const { name, arguments: given, _meta: meta } = params
  return {
    params: {
      ...params,
      _meta: {
        ...(isObject(meta) ? meta : {}),
        [`${PREFIX}protocolVersion`]: PER_REQUEST_VERSION,
        [`${PREFIX}clientInfo`]: clientInfo,
        [`${PREFIX}clientCapabilities`]: {},
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
    const isWanted = typeof header === 'string' && HEADER_NAME.test(header) && isPlainValue(value)
    return [
      ...(isWanted ? [[`mcp-param-${header}`, toHeader(String(value))] as [string, string]] : []),
      ...Object.entries(argumentHeaders(property, value)),
    ]
  })
  return Object.fromEntries(own)
}

const isPlainValue = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)

/** What no header can have goes as Base64. */
const toHeader = (value: string): string =>
  PLAIN.test(value) && !value.startsWith(ENCODED)
    ? value
    : `${ENCODED}${Buffer.from(value).toString('base64')}?=`
