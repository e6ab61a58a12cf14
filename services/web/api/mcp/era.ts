import { isObject } from '../../../shared/is-object.ts'
import { PER_REQUEST_VERSION } from '../../../shared/mcp/per-request.ts'
import { CODES } from './messages.ts'
import type { Fields, Message } from '../json-rpc.ts'
import type { Fault } from './messages.ts'

/** The versions that begin with `initialize`, the newest first. */
const SESSION_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18']
/** All that are spoken here. */
export const VERSIONS: readonly string[] = [PER_REQUEST_VERSION, ...SESSION_VERSIONS]

/** Of the names that MCP has in `_meta`. */
export const PREFIX = 'io.modelcontextprotocol/'
const VERSION_KEY = `${PREFIX}protocolVersion`
const CAPABILITIES_KEY = `${PREFIX}clientCapabilities`
/** The extension with tasks of 2026-07-28. */
export const TASKS_EXTENSION = `${PREFIX}tasks`
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** What the header `Mcp-Name` repeats, by the method. */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** The version in which a message is spoken: within a session, or on its own (2026-07-28). */
export type Era = 'session' | 'per-request'

/** Reads a header of a request. */
type HeaderOf = (name: string) => string | undefined

/** Returns the version to answer `initialize` with: the one that was asked for, or the newest. */
export const versionFor = (asked: unknown): string =>
  SESSION_VERSIONS.find((each) => each === asked) ?? SESSION_VERSIONS[0] ?? ''

/**
 * Reads in which version a message is spoken. What says so in the message decides, and the headers
 * have to say the same.
 */
export function readEra({ id, method, params }: Message, headerOf: HeaderOf): Era | Fault {
  const header = headerOf('mcp-protocol-version')
  const meta = metaOf(params)
  const { [VERSION_KEY]: claimed } = meta
  if (claimed === undefined && header !== PER_REQUEST_VERSION) {
    const isKnown = header === undefined || method === 'initialize' || isOfSession(header)
    return isKnown ? 'session' : unsupported(header)
  }
  if (id === undefined) return 'per-request'
  return envelopeFault(meta) ?? headerFault({ method, params }, headerOf, claimed) ?? 'per-request'
}

function envelopeFault(meta: Fields): Fault | undefined {
  const missing = [VERSION_KEY, CAPABILITIES_KEY].filter((key) => !Object.hasOwn(meta, key))
  if (typeof meta[VERSION_KEY] === 'string' && isObject(meta[CAPABILITIES_KEY])) return undefined
  const keys = `"${VERSION_KEY}" is a text and "${CAPABILITIES_KEY}" an object`
  return fault(CODES.invalidParams, `In params._meta, ${keys}.`, { envelope: { missing } })
}

function headerFault(
  { method, params }: Pick<Message, 'method' | 'params'>,
  headerOf: HeaderOf,
  claimed: unknown,
): Fault | undefined {
  if (headerOf('mcp-protocol-version') !== claimed) return mismatch('MCP-Protocol-Version')
  if (claimed !== PER_REQUEST_VERSION) return unsupported(String(claimed))
  if (headerOf('mcp-method') !== method) return mismatch('Mcp-Method')
  const named = NAMED.get(method)
  const isNamed = named === undefined || decode(headerOf('mcp-name')) === params[named]
  return isNamed ? undefined : mismatch('Mcp-Name')
}

/** Returns what the client of a request can do, as the request says. */
export function capabilitiesOf(params: Fields): Fields {
  const { [CAPABILITIES_KEY]: capabilities } = metaOf(params)
  return isObject(capabilities) ? capabilities : {}
}

/** Whether the client of a request takes a task for a result (2026-07-28). */
export function takesTasks(params: Fields): boolean {
  const { extensions } = capabilitiesOf(params)
  return isObject(extensions) && Object.hasOwn(extensions, TASKS_EXTENSION)
}

/** Returns the `_meta` of parameters. */
export function metaOf({ _meta: meta }: Fields): Fields {
  return isObject(meta) ? meta : {}
}

/** The version before is one that clients may fall back to where no header names another. */
const isOfSession = (version: string): boolean =>
  SESSION_VERSIONS.includes(version) || version === '2025-03-26'

function decode(header: string | undefined): string | undefined {
  const [, base64] = ENCODED.exec(header ?? '') ?? []
  return base64 === undefined ? header : Buffer.from(base64, 'base64').toString('utf8')
}

const fault = (code: Fault['code'], message: string, data: Fields): Fault => ({
  code,
  message,
  data,
  status: 400,
})

const mismatch = (header: string): Fault =>
  fault(CODES.headerMismatch, `The header ${header} and the message do not say the same.`, {
    header,
  })

const unsupported = (requested: string): Fault =>
  fault(CODES.unsupportedVersion, 'Unsupported protocol version', {
    supported: VERSIONS,
    requested: requested.slice(0, 40),
  })
