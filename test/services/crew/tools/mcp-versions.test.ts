import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { inputRequired } from '@modelcontextprotocol/server'
import { afterEach, describe, expect, it } from 'vitest'
import { openMcpSession } from '../../../../services/shared/mcp/client.ts'
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
  const session = openMcpSession({ url, token, guard, eras, responseBytesMax: 100_000 })
  opened.push(() => session.close(signal))
  return session
}

const SEARCH: TestTool = {
  name: 'search',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
}

const call = (session: McpSession, { name, inputSchema } = SEARCH, given: object = { q: 'x' }) =>
  session.callTool(
    { name, arguments: { ...given }, inputSchema, meta: { 'idempotency-key': 'key-1' } },
    signal,
  )

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
    expect(server.requests()).toBe(2)
    await call(open(server.url, eras))
    expect(server.requests()).toBe(3)
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

  it('is told to the model when it wants input first', async () => {
    const confirm = inputRequired.elicit({
      message: 'Sure?',
      requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
    })
    const answers = [
      inputRequired({ requestState: 'state' }),
      inputRequired({ inputRequests: { confirm } }),
    ]
    const server = await server2026([SEARCH], { answer: () => answers.shift() ?? { content: [] } })
    const session = open(server.url)
    await expect(call(session)).rejects.toThrow(
      'answered with a request for input in the middle of search (input_required). No person can',
    )
    await expect(call(session)).rejects.toThrow(/says: .*elicitation/)
    expect(server.calls).toHaveLength(2)
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
    expect(eras.isPerRequest(new URL(first.url))).toBe(true)
  })
})

/** A server that answers each request with this, and repeats its id. */
const answering =
  (answer: object, { status = 200, headers = {} } = {}): RequestListener =>
  (request, response) => {
    void text(request).then((body) => {
      const { id } = JSON.parse(body || '{}') as { id?: number }
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
  }

describe('an MCP server', () => {
  it('that takes other versions only is named with them', async () => {
    const error = { code: -32_022, message: 'no', data: { supported: ['2027-01-01'] } }
    const url = await serve(answering({ error }, { status: 400 }))
    await expect(open(url).listTools(signal)).rejects.toThrow(
      'with the versions 2027-01-01 of the protocol; known are 2025-03-26, 2025-06-18, ' +
        '2025-11-25, 2026-07-28.',
    )
  })

  it('that answers a call with a task is told to the model', async () => {
    const url = await serve(
      answering({ result: { protocolVersion: '2025-11-25', resultType: 'task' } }),
    )
    await expect(call(open(url))).rejects.toThrow('a result of search of the type task')
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
