import type { RequestListener, ServerResponse } from 'node:http'
import { pdf } from '../../documents/corpus.ts'
import { programPath } from '../../../support/program.ts'
import { createDocumentReader } from '../../../../services/shared/documents/read-document.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { openToolbox } from '../../../../services/crew/tools/toolbox.ts'
import type { CrewTool, ToolAnswer } from '../../../../services/crew/tools/tool.ts'
import type { Tools } from '../../../../services/platform/tools/tool-definitions.ts'
import { toError } from '../../../../services/shared/errors.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { startMcpServer, textResult } from '../../../support/mcp-server.ts'
import type { McpOptions, TestTool } from '../../../support/mcp-server.ts'
import { guardFor } from '../../../support/outgoing.ts'

const readDocument = createDocumentReader([programPath('documents')])
const REPORT = pdf([{ lines: ['One'] }]).toString('base64')

const opened: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = await startHttpServer(listener)
  opened.push(() => server.stop())
  return server.url
}

async function mcpServer(tools: TestTool[], options?: McpOptions) {
  const server = await startMcpServer(tools, options)
  opened.push(() => server.stop())
  return server
}

const SEARCH: TestTool = {
  name: 'search',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
}
const pinOf = ({ name, inputSchema }: TestTool) => ({ name, input_schema: { ...inputSchema } })

interface Opened {
  readonly origins?: readonly string[]
  readonly connections?: Readonly<Record<string, { access_token: string }>>
}

/** The first function of a toolbox with one tool. */
function open(tool: Tools[string], { origins = [], connections = {} }: Opened = {}): CrewTool {
  const toolbox = openToolbox(
    { guard: guardFor(...origins), connections, readDocument },
    { it: tool },
  )
  opened.push(() => toolbox.close())
  const [first] = toolbox.toolsFor({ tools: ['it'] })
  if (!first) throw new Error('there is no function')
  return first
}

async function call(tool: CrewTool, given: object, timeoutMs = 60_000): Promise<ToolAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const one = { arguments: { ...given }, idempotencyKey: 'key-1', path: [], signal }
  const answer = await tool.call(one)
  if (!('text' in answer)) throw new Error('the service wants something first')
  return answer
}

async function failureOf(tool: CrewTool, given: object, timeoutMs?: number): Promise<string> {
  const { text, isError } = await call(tool, given, timeoutMs).catch((thrown: unknown) => ({
    text: toError(thrown).message,
    isError: true,
  }))
  return isError ? text : `no failure, but ${text}`
}

const mcpTool = (url: string, tools = [SEARCH], more = {}) => ({
  type: 'mcp' as const,
  url,
  tools: tools.map(({ name }) => name),
  pinned: { tools: tools.map(pinOf) },
  ...more,
})

describe('a tool of an MCP server', () => {
  it.each<[string, McpOptions]>([
    ['a stream of events', {}],
    ['JSON', { json: true }],
    ['JSON without sessions', { json: true, stateless: true }],
    ['pages', { pageSize: 1 }],
  ])('is called over %s, with the idempotency key', async (_, options) => {
    const other = { ...SEARCH, name: 'other' }
    const server = await mcpServer([other, SEARCH], options)
    const tool = open(mcpTool(server.url), { origins: [server.origin] })
    expect(await call(tool, { q: 'tides' })).toEqual({ text: 'called search', isError: false })
    expect(server.calls).toEqual([
      {
        name: 'search',
        arguments: { q: 'tides' },
        meta: { 'idempotency-key': 'key-1' },
        authorization: undefined,
      },
    ])
  })

  it('gets the token of its connection, and no other tool does', async () => {
    const server = await mcpServer([SEARCH], { token: 'secret-token' })
    const origins = [server.origin]
    const connections = { notes: { access_token: 'secret-token' } }
    const withIt = open(mcpTool(server.url, [SEARCH], { connection: 'notes' }), {
      origins,
      connections,
    })
    expect(await call(withIt, { q: 'x' })).toMatchObject({ isError: false })
    const without = open(mcpTool(server.url), { origins, connections })
    expect(await failureOf(without, { q: 'x' })).toContain('HTTP 401. Name a `connection`')
    expect(server.calls).toHaveLength(1)
  })

  it('is not called once the server has changed its schema, even during a run', async () => {
    const server = await mcpServer([SEARCH])
    const tool = open(mcpTool(server.url), { origins: [server.origin] })
    await call(tool, { q: 'x' })
    const properties = { q: { type: 'string' }, path: { type: 'string' } }
    server.tools[0] = { ...SEARCH, inputSchema: { type: 'object', properties } }
    expect(await failureOf(tool, { q: 'x' })).toContain('has changed its input schema')
    server.tools.splice(0)
    expect(await failureOf(tool, { q: 'x' })).toContain('the server has it no more')
    expect(server.calls).toHaveLength(1)
  })

  it('goes on in a new session when the server has forgotten the old one', async () => {
    const server = await mcpServer([SEARCH])
    const tool = open(mcpTool(server.url), { origins: [server.origin] })
    await call(tool, { q: 'x' })
    server.forgetSessions()
    expect(await call(tool, { q: 'x' })).toMatchObject({ isError: false })
  })

  it('ends its session with the run', async () => {
    const server = await mcpServer([SEARCH])
    const guard = guardFor(server.origin)
    const toolbox = openToolbox(
      { guard, connections: {}, readDocument },
      { it: mcpTool(server.url) },
    )
    await Promise.all(toolbox.toolsFor({ tools: ['it'] }).map((tool) => call(tool, { q: 'x' })))
    await toolbox.close()
    expect(server.ended()).toBe(1)
  })

  it('shows texts, resources and structured results, and names what is no text', async () => {
    const results = [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', data: 'AA==', mimeType: 'x/y' },
        ],
      },
      { content: [{ type: 'resource', resource: { uri: 'x:y', text: 'inside' } }] },
      {
        content: [
          { type: 'resource', resource: { uri: 'x:/q3.pdf', blob: REPORT } },
          { type: 'resource', resource: { uri: 'x:/logo', mimeType: 'image/png', blob: 'AAAA' } },
        ],
      },
      { content: [{ type: 'resource_link', uri: 'https://x.test/', name: 'x' }] },
      { structuredContent: { answer: 42 } },
      {},
      { ...textResult('it broke'), isError: true },
      textResult('x'.repeat(40_000)),
    ]
    const server = await mcpServer([SEARCH], { answer: () => results.shift() ?? {} })
    const tool = open(mcpTool(server.url), { origins: [server.origin] })
    const next = () => call(tool, { q: 'x' })
    expect(await next()).toEqual({
      text: 'a\n(image: it cannot be shown as text)',
      isError: false,
    })
    expect((await next()).text).toBe('inside')
    expect((await next()).text).toMatch(
      /^\(1 page\)\n\[Page 1\]\nOne\n\(The document is image\/png; text, PDF/,
    )
    expect((await next()).text).toBe('(resource_link: https://x.test/)')
    expect((await next()).text).toBe('{"answer":42}')
    expect((await next()).text).toBe('(The result is empty.)')
    expect(await next()).toEqual({ text: 'it broke', isError: true })
    expect((await next()).text).toContain('7232 more characters were left out')
  })

  it.each<[string, RequestListener, string]>([
    ['HTML', (_, response) => sendHtml(response), 'HTTP 200 and text/html'],
    ['an error page', (_, response) => sendHtml(response, 502), 'HTTP 502'],
    ['a redirect', (_, response) => void response.writeHead(302, { location: '/x' }).end(), '302'],
    ['other JSON', (_, response) => sendJson(response, '{"x":1}'), 'JSON that is no message'],
    ['an empty stream', (_, response) => sendStream(response).end(), 'ended without the response'],
    ['too much', (_, response) => sendJson(response, ' '.repeat(5_000_000)), 'more than 4194304'],
  ])('whose server answers %s is told to the model', async (_, listener, message) => {
    const url = await serve(listener)
    const tool = open(mcpTool(`${url}/mcp`), { origins: [url] })
    expect(await failureOf(tool, { q: 'x' })).toContain(message)
  })

  it('is given up when the server streams for ever, or is silent', async () => {
    const endless = await serve((_, response) => {
      const stream = sendStream(response)
      const timer = setInterval(() => stream.write(': still here\n\n'), 20)
      response.on('close', () => clearInterval(timer))
    })
    const silent = await serve(() => {})
    for (const url of [endless, silent]) {
      const tool = open(mcpTool(url), { origins: [url] })
      expect(await failureOf(tool, { q: 'x' }, 300)).toMatch(/timeout|aborted/)
    }
  })
})

const html = '<h1>Not found</h1><p>Sorry.</p>'
function sendHtml(response: ServerResponse, status = 200): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(html)
}
function sendJson(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body)
}
function sendStream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  return response
}

describe('a tool that fetches', () => {
  const fetchTool = (...allow: string[]) => ({ type: 'fetch' as const, allow })

  it('reads a page as text, and follows redirects within what it may read', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/a') response.writeHead(302, { location: '/b' }).end()
      else if (request.url === '/out') response.writeHead(302, { location: 'http://x.test/' }).end()
      else if (request.url === '/round') response.writeHead(302, { location: '/round' }).end()
      else sendHtml(response)
    })
    const tool = open(fetchTool(url), { origins: [url] })
    expect(await call(tool, { url: `${url}/a` })).toEqual({
      text: `${url}/b\n\n# Not found\n\nSorry.`,
      isError: false,
    })
    expect(await failureOf(tool, { url: `${url}/out` })).toContain('http://x.test/ may not be read')
    expect(await failureOf(tool, { url: `${url}/round` })).toContain('redirects more than 5 times')
    expect(await failureOf(tool, { url: 'http://x.test/' })).toContain('may not be read')
    expect(await failureOf(tool, { url: 'no url' })).toContain('no absolute URL')
  })

  it('reads no private address that is not listed, nor one that it is led to', async () => {
    const inside = await serve((_, response) => response.end('internal secret'))
    const outside = await serve((_, response) =>
      response.writeHead(302, { location: `${inside}/` }).end(),
    )
    const tool = open(fetchTool(inside, outside), { origins: [outside] })
    for (const url of [`${inside}/`, `${outside}/`]) {
      const said = await failureOf(tool, { url })
      expect(said).toContain(`listing ${inside} in A_SETTING`)
      expect(said).not.toContain('secret')
    }
  })

  it('reads the beginning of a long text, and on from there', async () => {
    const text = `${'a'.repeat(32_768)}${'b'.repeat(100)}`
    const url = await serve((_, response) => response.end(text))
    const tool = open(fetchTool(url), { origins: [url] })
    expect((await call(tool, { url })).text).toContain('100 more characters were left out')
    expect((await call(tool, { url, start: 32_768 })).text).toBe(`${url}/\n\n${'b'.repeat(100)}`)
  })

  it('stops reading 50 MB after the first', async () => {
    let sent = 0
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const piece = 'x'.repeat(65_536)
      const more = (): void => {
        while (sent < 50_000_000 && !response.destroyed) {
          sent += piece.length
          if (!response.write(piece)) return void response.once('drain', more)
        }
        response.end()
      }
      more()
    })
    const tool = open(fetchTool(url), { origins: [url] })
    expect((await call(tool, { url })).text).toContain('Only the first 1048576 bytes were read')
    expect(sent).toBeLessThan(20_000_000)
  })

  it('reads documents by their pages, and says what it cannot show', async () => {
    const answers: Readonly<Record<string, Buffer>> = {
      '/a/q3.pdf': pdf([{ lines: ['One'] }, { lines: ['Two'] }]),
      '/scan.pdf': pdf([{ hasPicture: true }]),
      '/film': Buffer.from([0, 1, 2]),
    }
    const url = await serve((request, response) => {
      const content = answers[request.url ?? '']
      if (!content) return sendHtml(response, 404)
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(content)
    })
    const tool = open(fetchTool(url), { origins: [url] })
    expect((await call(tool, { url: `${url}/a/q3.pdf` })).text).toContain(
      '(2 pages)\n[Page 1]\nOne\n\n[Page 2]\nTwo',
    )
    expect(await failureOf(tool, { url: `${url}/scan.pdf` })).toContain(
      'The file scan.pdf has no text; 1 page of pictures',
    )
    expect(await failureOf(tool, { url: `${url}/film` })).toContain(
      'The document is application/octet-stream; text, PDF, DOCX',
    )
    expect(await failureOf(tool, { url: `${url}/no` })).toContain('HTTP 404')
  })
})

describe('an operation of an HTTP service', () => {
  const operation = {
    name: 'putPet',
    method: 'PUT' as const,
    path: '/pets/{id}/tags',
    parameters: [
      { name: 'id', in: 'path' as const },
      { name: 'tag', in: 'query' as const },
      { name: 'X-Trace', in: 'header' as const },
    ],
    input_schema: { type: 'object' },
  }
  const httpTool = (base_url: string, more = {}) => ({
    type: 'http' as const,
    openapi: {},
    operations: ['putPet'],
    pinned: { base_url, operations: [operation] },
    ...more,
  })

  it('is called with its parameters, the token and the idempotency key', async () => {
    const seen: unknown[] = []
    const url = await serve((request, response) => {
      const { authorization, 'idempotency-key': key, 'x-trace': trace } = request.headers
      seen.push([request.method, request.url, authorization, key, trace])
      request.on('data', (chunk: Buffer) => seen.push(chunk.toString()))
      request.on('end', () => sendJson(response, '{"ok":true}'))
    })
    const tool = open(httpTool(`${url}/v1`, { connection: 'pets' }), {
      origins: [url],
      connections: { pets: { access_token: 'secret-token' } },
    })
    const given = { id: 'a/b ü', tag: ['x', 'y z'], 'X-Trace': 7, body: { name: 'Rex' } }
    expect(await call(tool, given)).toEqual({ text: 'HTTP 200\n{"ok":true}', isError: false })
    expect(seen).toEqual([
      ['PUT', '/v1/pets/a%2Fb%20%C3%BC/tags?tag=x&tag=y+z', 'Bearer secret-token', 'key-1', '7'],
      '{"name":"Rex"}',
    ])
  })

  it('is not led to another operation, nor to more headers, by its parameters', async () => {
    const url = await serve((_, response) => response.end())
    const tool = open(httpTool(url), { origins: [url] })
    expect(await failureOf(tool, { id: '..' })).toContain('id must not be ..')
    expect(await failureOf(tool, { id: '' })).toContain('id must not be empty')
    const split = { id: 'x', 'X-Trace': 'a\r\nx: y' }
    expect(await failureOf(tool, split)).toContain('X-Trace must be printable ASCII')
  })

  it.each<[string, RequestListener, string]>([
    ['HTML', (_, response) => sendHtml(response, 404), 'HTTP 404\n# Not found\n\nSorry.'],
    [
      'a redirect',
      (_, response) => void response.writeHead(302).end(),
      'redirects are not followed',
    ],
    ['a 401', (_, response) => void response.writeHead(401).end(), 'the tool has no connection'],
  ])('that answers %s is an error for the model', async (_, listener, message) => {
    const url = await serve(listener)
    expect(await failureOf(open(httpTool(url), { origins: [url] }), { id: 'x' })).toContain(message)
  })

  it('is shown by its media type when it answers with no text', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([1, 2]))
    })
    const { text } = await call(open(httpTool(url), { origins: [url] }), { id: 'x' })
    expect(text).toBe('HTTP 200\n(The answer is image/png, which is no text.)')
  })
})

describe('a run', () => {
  it('does not begin with a tool that has no schemas, or whose connection it was not given', () => {
    const { pinned: _, ...unpinned } = mcpTool('https://x.test/mcp')
    expect(() => open(unpinned)).toThrow('The tool it has no schemas')
    const connected = mcpTool('https://x.test/mcp', [SEARCH], { connection: 'notes' })
    expect(() => open(connected)).toThrow('needs the connection notes')
  })
})
