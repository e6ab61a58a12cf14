import * as v from 'valibot'
import { deadline } from '../deadline.ts'
import { AppError } from '../errors.ts'
import {
  discovered,
  initialized,
  PROTOCOL_VERSION,
  PROTOCOL_VERSIONS,
  versionRefusal,
} from './messages.ts'
import type { McpRequest } from './messages.ts'
import type { McpEras } from './per-request.ts'
import { createMcpEras, PER_REQUEST_VERSION, toPerRequest } from './per-request.ts'
import { badAnswer, endSession, postMessage } from './post-message.ts'
import type { McpAnswer, McpServer, Posted } from './post-message.ts'
import { resultOf } from './results.ts'

const METHOD_NOT_FOUND = -32_601
const CLIENT_INFO = { name: 'crew-platform', version: '2' }
const DISCOVER_MS = 5000
/** How servers with sessions refuse a request without one. */
const SESSION_WANTED: readonly number[] = [-32_000, -32_600, -32_022]

type Fields = Readonly<Record<string, unknown>>

interface Session {
  readonly id: string | undefined
  readonly version: string
}

/** A request, in whichever version of the protocol it is made. */
interface McpAsked {
  readonly method: string
  readonly params: Fields
  /** The schema of a tool's arguments. */
  readonly inputSchema?: Fields | undefined
}

/** The way to a server: within a session, or without one where the server takes none. */
interface Connection {
  request(asked: McpAsked, signal: AbortSignal): Promise<McpAnswer>
  /** Tells the server that the session is over. Never raises. */
  close(signal: AbortSignal): Promise<void>
}

/** Creates the way to a server. Nothing is sent before the first request. */
export function createConnection(server: McpServer): Connection {
  const { url, eras = createMcpEras(), capabilities = {} } = server
  let session: Promise<Session | undefined> | undefined
  let lastId = 0
  const nextId = (): number => (lastId += 1)

  async function begin(signal: AbortSignal): Promise<Session | undefined> {
    session ??= open({ server, eras, requestAlone, nextId }, signal)
    const begun = session
    try {
      return await begun
    } catch (thrown) {
      if (session === begun) session = undefined
      throw thrown
    }
  }

  function requestAlone(asked: McpAsked, signal: AbortSignal): Promise<McpAnswer> {
    const { params, headers } = toPerRequest({ ...asked, clientInfo: CLIENT_INFO, capabilities })
    const body = { jsonrpc: '2.0', id: nextId(), method: asked.method, params }
    return postMessage(server, { body, headers, signal })
  }

  return {
    async request(asked, signal) {
      const { method, params } = asked
      for (let attempts = 1; ; attempts += 1) {
        const isKnown = eras.eraOf(url) === 'per-request'
        const begun = isKnown ? undefined : await begin(signal)
        if (!begun) {
          session = undefined
          const answer = await requestAlone(asked, signal)
          if (!isKnown || !wantsSession(answer) || attempts === 2) return answer
          eras.learn(url, 'session')
        } else {
          const body = { id: nextId(), method, params }
          const answer = await post(server, { body, headers: headersOf(begun), signal })
          // The server has forgotten the session, and has done nothing.
          if (answer.status !== 404 || begun.id === undefined) return answer
          if (attempts === 2) throw badAnswer(server, 'HTTP 404 in a new session', KEEP_SESSIONS)
          session = undefined
        }
      }
    },
    async close(signal) {
      const begun = await session?.catch(() => undefined)
      if (begun?.id === undefined) return
      await endSession(server, headersOf(begun), signal).catch(() => {})
    },
  }
}

interface Opening {
  readonly server: McpServer
  readonly eras: McpEras
  readonly requestAlone: Connection['request']
  readonly nextId: () => number
}

/** Begins a session; returns undefined for a server whose requests stand alone. */
async function open(
  { server, eras, requestAlone, nextId }: Opening,
  signal: AbortSignal,
): Promise<Session | undefined> {
  const { url } = server
  const isKnown = eras.eraOf(url) !== undefined
  const found = isKnown ? PROTOCOL_VERSION : await discover(server, requestAlone, signal)
  const wanted = { version: found ?? PROTOCOL_VERSION, signal }
  const begun =
    found === PER_REQUEST_VERSION ? undefined : await initialize(server, nextId(), wanted)
  if (!begun || found !== undefined) eras.learn(url, begun ? 'session' : 'per-request')
  return begun
}

/** Returns the version to speak; undefined for a server that is to be asked again some time. */
async function discover(
  server: McpServer,
  request: Connection['request'],
  signal: AbortSignal,
): Promise<string | undefined> {
  const limit = { name: `Discovery at ${server.url.host}`, timeoutMs: DISCOVER_MS, signal }
  const asked = { method: 'server/discover', params: {} }
  // Old servers have a page for what they do not know. What else is wrong `initialize` will say.
  const answer = await deadline(limit, (each) => request(asked, each)).catch((thrown: unknown) =>
    thrown instanceof AppError && thrown.details['problem'] === 'bad_answer' ? 'page' : undefined,
  )
  signal.throwIfAborted()
  if (answer === 'page') return PROTOCOL_VERSION
  return answer && answer.status < 500 ? versionFor(server, answer) : undefined
}

/** Begins a session; returns undefined for a server that takes none. */
async function initialize(
  server: McpServer,
  id: number,
  { version: protocolVersion, signal }: { version: string; signal: AbortSignal },
): Promise<Session | undefined> {
  const params = { protocolVersion, capabilities: {}, clientInfo: CLIENT_INFO }
  const body = { id, method: 'initialize', params }
  const answer = await post(server, { body, headers: {}, signal })
  if (refusesSessions(server, answer)) return undefined
  const { protocolVersion: version } = resultOf(server, answer, initialized)
  if (!PROTOCOL_VERSIONS.includes(version)) {
    throw badAnswer(server, `version ${version.slice(0, 20)} of the protocol, which is not known`)
  }
  const begun = { id: answer.sessionId, version }
  const notification = { method: 'notifications/initialized' }
  await post(server, { body: notification, headers: headersOf(begun), signal })
  return begun
}

const KEEP_SESSIONS =
  'It forgets sessions that have just begun. If it runs as several replicas, let them share ' +
  'their sessions, or let it have none.'

/** Raises `bad_gateway` for a server that takes none of the versions that are spoken here. */
function refusesSessions(server: McpServer, { response }: McpAnswer): boolean {
  const refusal = v.safeParse(versionRefusal, response)
  if (!refusal.success) return false
  const { supported } = refusal.output.error.data
  if (supported.includes(PER_REQUEST_VERSION)) return true
  throw foreignVersions(server, supported)
}

/**
 * Returns the version to speak by the answer to `server/discover`. Raises `bad_gateway` for a
 * server that takes none of those that are spoken here.
 */
function versionFor(server: McpServer, { response }: McpAnswer): string {
  const found = v.safeParse(discovered, response)
  const refusal = v.safeParse(versionRefusal, response)
  if (found.success && found.output.result.supportedVersions.includes(PER_REQUEST_VERSION)) {
    return PER_REQUEST_VERSION
  }
  const supported = found.success
    ? found.output.result.supportedVersions
    : refusal.success && refusal.output.error.data.supported
  if (!supported) return PROTOCOL_VERSION
  const common = PROTOCOL_VERSIONS.find((each) => supported.includes(each))
  if (common !== undefined) return common
  throw supported.includes(PER_REQUEST_VERSION)
    ? badAnswer(server, `a refusal of version ${PER_REQUEST_VERSION}, which it lists as its own`)
    : foreignVersions(server, supported)
}

function foreignVersions(server: McpServer, supported: readonly string[]): AppError {
  const theirs = supported.slice(0, 10).join(', ').slice(0, 200)
  const ours = [...PROTOCOL_VERSIONS, PER_REQUEST_VERSION].toSorted().join(', ')
  return badAnswer(server, `the versions ${theirs} of the protocol; known are ${ours}`)
}

/** It was replaced by a server with sessions, and has done nothing. */
const wantsSession = ({ status, response }: McpAnswer): boolean =>
  status === 400 &&
  response !== undefined &&
  'error' in response &&
  SESSION_WANTED.includes(response.error.code)

/** Posts a message, and answers what the server asks meanwhile. */
function post(server: McpServer, posted: Posted): Promise<McpAnswer> {
  const { body, headers, signal } = posted
  const onRequest = (request: McpRequest): void => {
    const reply = replyTo(request)
    if (reply) void postMessage(server, { body: reply, headers, signal }).catch(() => {})
  }
  return postMessage(server, { ...posted, body: { jsonrpc: '2.0', ...body }, onRequest })
}

const headersOf = ({ id, version }: Session): Readonly<Record<string, string>> => ({
  'mcp-protocol-version': version,
  ...(id === undefined ? {} : { 'mcp-session-id': id }),
})

/** This client offers nothing but to be there. */
function replyTo({ id, method }: McpRequest): Fields | undefined {
  if (id === undefined) return undefined
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
  const error = { code: METHOD_NOT_FOUND, message: `${method} is not supported` }
  return { jsonrpc: '2.0', id, error }
}
