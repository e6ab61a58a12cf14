import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { inputRequired } from '@modelcontextprotocol/server'
import type { InputRequests } from '@modelcontextprotocol/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ANSWERING, openMcpSession } from '../../../../services/shared/mcp/client.ts'
import type { McpSession } from '../../../../services/shared/mcp/client.ts'
import { createMcpEras } from '../../../../services/shared/mcp/per-request.ts'
import type { McpEras } from '../../../../services/shared/mcp/per-request.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { startMcpServer } from '../../../support/mcp-server.ts'
import type { TestTool } from '../../../support/mcp-server.ts'
import { startMcpServer2026 } from '../../../support/mcp-server-2026.ts'
import { guardFor } from '../../../support/outgoing.ts'

const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

type Options = Parameters<typeof startMcpServer2026>[1]

async function server2026(tools: TestTool[], options?: Options) {
  const server = await startMcpServer2026(tools, options)
  opened.push(() => server.stop())
  return server
}

async function serve(listener: RequestListener): Promise<string> {
  const server = await startHttpServer(listener)
  opened.push(() => server.stop())
  return `${server.url}/mcp`
}

const signal = AbortSignal.timeout(60_000)

function open(address: string, eras?: McpEras): McpSession {
  const url = new URL(address)
  const token = () => ({ access_token: 'secret-token' })
  const guard = guardFor(url.origin)
  const session = openMcpSession({
    url,
    token,
    guard,
    eras,
    capabilities: ANSWERING,
    responseBytesMax: 100_000,
  })
  opened.push(() => session.close(signal))
  return session
}

const SEARCH: TestTool = {
  name: 'search',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
}

const outcomeOf = (session: McpSession, { name, inputSchema } = SEARCH, given: object = {}) =>
  session.callTool(
    { name, arguments: { ...given }, inputSchema, meta: { 'idempotency-key': 'key-1' } },
    signal,
  )

async function call(session: McpSession, tool = SEARCH, given: object = { q: 'x' }) {
  const outcome = await outcomeOf(session, tool, given)
  if ('result' in outcome) return outcome.result
  throw new Error('the server wants something first')
}

describe('an MCP server that takes 2026-07-28 alone', () => {
  it.each<[string, Options]>([
    ['JSON', {}],
    ['a stream of events', { responseMode: 'sse' }],
    ['pages', { pageSize: 1 }],
  ])('is called over %s, with the token and the idempotency key', async (_, options) => {
    const server = await server2026([{ ...SEARCH, name: 'other' }, SEARCH], options)
    const session = open(server.url)
    const tools = await session.listTools(signal)
    expect(tools.map(({ name }) => name)).toEqual(['other', 'search'])
    const { content, isError } = await call(session)
    expect({ content, isError }).toEqual({
      content: [{ type: 'text', text: 'called search' }],
      isError: false,
    })
    expect(server.calls).toMatchObject([
      {
        arguments: { q: 'x' },
        meta: { 'idempotency-key': 'key-1' },
        authorization: 'Bearer secret-token',
      },
    ])
  })

  it('is found out once by those who share what they know', async () => {
    const server = await server2026([SEARCH])
    const eras = createMcpEras()
    await call(open(server.url, eras))
    expect(server.methods).toEqual(['server/discover', 'tools/call'])
    await call(open(server.url, eras))
    expect(server.methods.slice(2)).toEqual(['tools/call'])
  })

  it('tells of its progress before it answers', async () => {
    const server = await server2026([SEARCH], {
      responseMode: 'sse',
      async answer(_, { mcpReq }) {
        for (const progress of [1, 2, 3]) {
          const params = { progressToken: 'p', progress, total: 3 }
          await mcpReq.notify({ method: 'notifications/progress', params })
        }
        return { content: [{ type: 'text', text: 'done' }] }
      },
    })
    expect((await call(open(server.url))).content).toMatchObject([{ text: 'done' }])
  })

  it.each(['tides', 'naïve – 海', ' x\r\nauthorization: evil ', '=?base64?eA==?=', '', 'a b'])(
    'gets the arguments that it wants in headers too: %j',
    async (q) => {
      const deep = { type: 'string', 'x-mcp-header': 'Region' }
      const tool: TestTool = {
        name: 'find',
        inputSchema: {
          type: 'object',
          properties: {
            q: { type: 'string', 'x-mcp-header': 'Query' },
            count: { type: 'integer', 'x-mcp-header': 'Count' },
            exact: { type: 'boolean', 'x-mcp-header': 'Exact' },
            place: { type: 'object', properties: { region: deep } },
            left_out: { type: 'string', 'x-mcp-header': 'Left-Out' },
          },
        },
      }
      const server = await server2026([tool], { comparesHeaders: true })
      const given = { q, count: 7, exact: false, place: { region: 'EU' } }
      expect(await call(open(server.url), tool, given)).toMatchObject({ isError: false })
      expect(server.calls).toMatchObject([
        { arguments: given, authorization: 'Bearer secret-token' },
      ])
    },
  )

  it('sets no header of another name, whatever the schema of a tool says', async () => {
    const server = await server2026([SEARCH])
    const named = (name: unknown) => ({ type: 'string', 'x-mcp-header': name })
    const properties = { a: named('x: y\r\nauthorization'), b: named(''), c: named({}), d: null }
    const tool = { ...SEARCH, inputSchema: { type: 'object' as const, properties } }
    const given = { a: 'evil', b: 'evil', c: 'evil', d: 'evil' }
    expect(await call(open(server.url), tool, given)).toMatchObject({ isError: false })
    expect(server.calls[0]?.authorization).toBe('Bearer secret-token')
  })

  it('is called by any name', async () => {
    const tool = { ...SEARCH, name: 'suche für alle' }
    const server = await server2026([tool])
    expect(await call(open(server.url), tool)).toMatchObject({ isError: false })
  })

  it('asks for input and gets its state back, byte by byte', async () => {
    const requestState = ' {"a": "\u2028ü"}=='
    const requestedSchema = { type: 'object', properties: { ok: { type: 'boolean' } } } as const
    const confirm = inputRequired.elicit({ message: 'Sure?', requestedSchema })
    const inputRequests = { confirm }
    const server = await server2026([SEARCH], {
      answer: ({ responses }) =>
        responses ? { content: [] } : inputRequired({ inputRequests, requestState }),
    })
    const session = open(server.url)
    expect(await outcomeOf(session)).toEqual({
      questions: {
        confirm: {
          message: 'Sure?',
          schema: { ...requestedSchema, required: [], additionalProperties: false },
        },
      },
      requestState,
    })
    const inputResponses = { confirm: { action: 'accept', content: { ok: true } } }
    const again = { ...SEARCH, arguments: {}, meta: {}, inputResponses, requestState }
    expect(await session.callTool(again, signal)).toMatchObject({ result: { isError: false } })
    expect(server.calls.at(-1)).toMatchObject({ responses: inputResponses, requestState })
  })

  it.each<[string, InputRequests, RegExp]>([
    ['a model', { m: inputRequired.createMessage({ messages: [], maxTokens: 1 }) }, /-3202|sampl/],
    ['roots', { r: inputRequired.listRoots() }, /-3202|roots/],
  ])('is refused when it asks for %s, which it was not offered', async (_, requests, message) => {
    const answer = () => inputRequired({ inputRequests: requests })
    const server = await server2026([SEARCH], { answer })
    await expect(outcomeOf(open(server.url))).rejects.toThrow(message)
  })

  it('may be replaced by one with sessions, and the other way round', async () => {
    const eras = createMcpEras()
    const first = await startMcpServer2026([SEARCH])
    const port = Number(new URL(first.url).port)
    await call(open(first.url, eras))
    await first.stop()
    const second = await startMcpServer([SEARCH], { port })
    const session = open(second.url, eras)
    expect(await session.listTools(signal)).toHaveLength(1)
    expect(await call(session)).toMatchObject({ isError: false })
    await second.stop()
    await server2026([SEARCH], { port })
    expect(await call(open(first.url, eras))).toMatchObject({ isError: false })
    expect(eras.eraOf(new URL(first.url))).toBe('per-request')
  })
})

const UNSUPPORTED = (supported: string[]) => ({
  code: -32_022,
  message: 'no',
  data: { supported, requested: '2026-07-28' },
})

interface Asked {
  readonly id?: number
  readonly params?: { readonly protocolVersion?: string }
}

interface Head {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Gets the versions that clients ask for. */
  readonly seen?: unknown[]
}

/** A server that answers each request with this, and repeats its id. */
const answering =
  (answer: object, { status = 200, headers = {}, seen = [] }: Head = {}): RequestListener =>
  (request, response) => {
    void text(request).then((body) => {
      const { id, params } = JSON.parse(body || '{}') as Asked
      seen.push(params?.protocolVersion)
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
  }

describe('an MCP server of both eras', () => {
  it('is spoken to in the newer one', async () => {
    const server = await server2026([SEARCH], { legacy: 'stateless' })
    const session = open(server.url)
    expect(await session.listTools(signal)).toHaveLength(1)
    expect(await call(session)).toMatchObject({ isError: false })
    expect(server.methods).toEqual(['server/discover', 'tools/list', 'tools/call'])
  })
})

describe('an MCP server of 2025', () => {
  it('is asked once in vain by those who share what they know, and then as ever', async () => {
    const server = await startMcpServer([SEARCH])
    opened.push(() => server.stop())
    const eras = createMcpEras()
    const counts: number[] = []
    for (let sessions = 0; sessions < 2; sessions += 1) {
      const before = server.requests()
      const session = open(server.url, eras)
      await call(session)
      await call(session)
      counts.push(server.requests() - before)
    }
    // initialize, initialized, and two calls
    expect(counts).toEqual([5, 4])
    expect(eras.eraOf(new URL(server.url))).toBe('session')
  })

  it.each<[string, RequestListener]>([
    ['nothing', () => {}],
    ['HTTP 503', (_, response) => void response.writeHead(503).end()],
    ['a closed connection', (_, response) => void response.destroy()],
  ])('that answers to discovery with %s is asked again by the next session', async (_, first) => {
    const eras = createMcpEras()
    const result = { protocolVersion: '2025-06-18', tools: [] }
    const url = await serve((request, response) => {
      const isDiscovery = request.headers['mcp-method'] === 'server/discover'
      ;(isDiscovery ? first : answering({ result }))(request, response)
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const listed = open(url, eras).listTools(signal)
    await vi.advanceTimersByTimeAsync(5000)
    vi.useRealTimers()
    expect(await listed).toEqual([])
    expect(eras.eraOf(new URL(url))).toBeUndefined()
  })

  it.each<[string, object, object?]>([
    ['HTML', { html: true }],
    ['an error', { error: { code: -32_601, message: 'no' } }],
    ['its versions', { error: UNSUPPORTED(['2024-11-05', '2025-11-25']) }, { status: 400 }],
    ['its versions as a result', { result: { supportedVersions: ['2025-11-25'] } }],
    ['something else', { result: { tools: [] } }],
  ])('is recognized by %s', async (kind, said, head) => {
    const eras = createMcpEras()
    const versions: unknown[] = []
    const url = await serve((request, response) => {
      if (request.headers['mcp-method'] !== 'server/discover') {
        const result = { protocolVersion: '2025-11-25', tools: [] }
        return answering({ result }, { seen: versions })(request, response)
      }
      if ('html' in said) return void response.end('<p>')
      answering(said, head)(request, response)
    })
    expect(await open(url, eras).listTools(signal)).toEqual([])
    expect(eras.eraOf(new URL(url))).toBe('session')
    expect(versions[0]).toBe(kind.startsWith('its') ? '2025-11-25' : '2025-06-18')
  })
})

describe('an MCP server that lies', () => {
  it('about its era is told so, after a few requests', async () => {
    let requests = 0
    const lying = (said: object, head?: object) =>
      serve((request, response) => {
        requests += 1
        answering(said, head)(request, response)
      })
    const refusing = await lying({ error: UNSUPPORTED(['2026-07-28']) }, { status: 400 })
    await expect(open(refusing).listTools(signal)).rejects.toThrow(
      'a refusal of version 2026-07-28, which it lists as its own',
    )
    const claiming = await lying({ result: { supportedVersions: ['2026-07-28'] } })
    await expect(open(claiming).listTools(signal)).rejects.toThrow('a result that is not valid')
    const both = await serve((request, response) => {
      requests += 1
      const isDiscovery = request.headers['mcp-method'] === 'server/discover'
      const said = isDiscovery
        ? { result: { supportedVersions: ['2026-07-28'] } }
        : { error: UNSUPPORTED(['2026-07-28']) }
      answering(said, { status: isDiscovery ? 200 : 400 })(request, response)
    })
    await expect(open(both).listTools(signal)).rejects.toThrow('says: no')
    expect(requests).toBeLessThan(10)
  })

  it.each([7, 'x', null])(
    'about the request that it answers (id %j) is not believed',
    async (id) => {
      const result = { supportedVersions: ['2026-07-28'], tools: [] }
      const url = await serve(answering({ result, id }))
      await expect(open(url).listTools(signal)).rejects.toThrow(/response to another|no message of/)
    },
  )
})

describe('an MCP server', () => {
  it('that takes other versions only is named with them', async () => {
    const error = UNSUPPORTED(['2027-01-01'])
    const url = await serve(answering({ error }, { status: 400 }))
    await expect(open(url).listTools(signal)).rejects.toThrow(
      'with the versions 2027-01-01 of the protocol; known are 2025-03-26, 2025-06-18, ' +
        '2025-11-25, 2026-07-28.',
    )
  })

  it('that answers a call with what is not known is told to the model', async () => {
    const url = await serve(
      answering({ result: { protocolVersion: '2025-11-25', resultType: 'poem' } }),
    )
    await expect(call(open(url))).rejects.toThrow('a result of search of the type poem')
  })

  it('that forgets its sessions is asked in a new one, and then told what to do', async () => {
    const server = await startMcpServer([SEARCH])
    opened.push(() => server.stop())
    const session = open(server.url)
    await session.listTools(signal)
    server.forgetSessions()
    expect(await session.listTools(signal)).toHaveLength(1)

    const forgetful = await serve((request, response) => {
      if (request.headers['mcp-session-id'] !== undefined) response.writeHead(404).end()
      else {
        const headers = { 'mcp-session-id': 's' }
        answering({ result: { protocolVersion: '2025-06-18' } }, { headers })(request, response)
      }
    })
    await expect(open(forgetful).listTools(signal)).rejects.toThrow(
      /HTTP 404 in a new session\. It forgets sessions .* let them share their sessions/,
    )
  })

  it.each<[string, RequestListener, RegExp]>([
    [
      'too much',
      answering({ result: { protocolVersion: '2025-06-18', tools: ' '.repeat(100_000) } }),
      /more than 100000 bytes\. Let the server answer with less/,
    ],
    ['a page', (_, response) => void response.end('<p>'), /no content type\. Check the address/],
    ['an outage', (_, response) => void response.writeHead(503).end(), /HTTP 503\.$/],
  ])('that answers with %s is told with what helps', async (_, listener, message) => {
    const url = await serve(listener)
    await expect(open(url).listTools(signal)).rejects.toThrow(message)
  })
})
