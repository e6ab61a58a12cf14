import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { definition } from '../../../../support/crew.ts'
import { startHttpServer } from '../../../../support/http-server.ts'
import { startMcpServer } from '../../../../support/mcp-server.ts'
import type { McpOptions, TestTool } from '../../../../support/mcp-server.ts'
import { freePort } from '../../../../support/free-port.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const SEARCH: TestTool = {
  name: 'search',
  description: 'Searches.',
  inputSchema: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
}

let port: number
let platform: Platform
let app: Platform['app']
let token: string
let stop: (() => Promise<void>) | undefined

beforeAll(async () => {
  port = await freePort()
  platform = await openPlatform()
  app = platform.appAt(BASE_URL, { TOOL_PRIVATE_ORIGINS: origin() })
  token = await platform.issueToken(platform.acme)
})

afterEach(async () => {
  await stop?.()
  stop = undefined
})

afterAll(() => platform.close())

const origin = () => `http://127.0.0.1:${port}`

async function serveMcp(tools: TestTool[], options: McpOptions = {}) {
  const server = await startMcpServer(tools, { ...options, port })
  stop = () => server.stop()
  return server
}

/** Serves the API of the manual's first crew. */
async function serveExample() {
  const child = spawn(process.execPath, ['docs/examples/stock.mjs', String(port)])
  stop = async () => {
    child.kill()
    await once(child, 'exit')
  }
  await once(child.stdout, 'data')
}

async function serveText(body: string, status = 200) {
  const listener: Parameters<typeof startHttpServer>[0] = (_, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  const server = await startHttpServer(listener, port)
  stop = () => server.stop()
}

async function call(method: string, path: string, body?: unknown) {
  const response = await app.request(`${BASE_URL}/designer/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, ...(await readObject(response)) } as Record<string, unknown>
}

let names = 0
/** Publishes a version with these tools, and returns the answer. */
async function publish(tools: object, path?: string) {
  names += 1
  const project =
    path ?? `/projects/${String((await call('POST', '/projects', { name: `P ${names}` }))['id'])}`
  const [agent, ...agents] = definition.agents
  const changed = { ...agent, tools: Object.keys(tools) }
  const draft = await call('POST', `${project}/versions`, {
    definition: { ...definition, tools, agents: [changed, ...agents] },
  })
  if (draft['status'] !== 'draft') return draft
  return call('POST', `${project}/versions/${String(draft['number'])}/publish`)
}

const published = (answer: Record<string, unknown>) =>
  (answer['definition'] as { tools: Record<string, { pinned: unknown }> }).tools

describe('publishing a version with tools of an MCP server', () => {
  const docs = (...tools: string[]) => ({ docs: { type: 'mcp', url: `${origin()}/mcp`, tools } })

  it('stores the schemas of the tools that it allows, over all pages, and no others', async () => {
    await serveMcp([{ ...SEARCH, name: 'other' }, SEARCH], { pageSize: 1 })
    const { docs: pinned } = published(await publish(docs('search')))
    expect(pinned).toEqual({
      ...docs('search').docs,
      pinned: {
        tools: [{ name: 'search', description: 'Searches.', input_schema: SEARCH.inputSchema }],
      },
    })
  })

  it('reads them anew when the next version was copied from a published one', async () => {
    const server = await serveMcp([SEARCH])
    const first = published(await publish(docs('search')))
    server.tools[0] = { ...SEARCH, description: 'Finds.' }
    expect(published(await publish(first))['docs']?.pinned).toMatchObject({
      tools: [{ description: 'Finds.' }],
    })
  })

  it.each<[string, TestTool[], string]>([
    ['is not there', [{ ...SEARCH, name: 'serch' }], 'has no tool search. Did you mean serch?'],
    ['is there twice', [SEARCH, SEARCH], 'has 2 tools named search'],
    [
      'has a schema of 1 MB',
      [{ ...SEARCH, inputSchema: { type: 'object', description: 'x'.repeat(1_000_000) } }],
      'has 1000034 bytes, and 32768 are allowed',
    ],
    [
      'refers to nowhere',
      [{ ...SEARCH, inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/x' } } } }],
      'refers to #/$defs/x, which is not there',
    ],
    [
      'refers out of its schema',
      [
        {
          ...SEARCH,
          inputSchema: { type: 'object', properties: { a: { $ref: 'http://x.test' } } },
        },
      ],
      'refers to http://x.test, which is not in the same document',
    ],
    [
      'cannot be stored',
      [{ ...SEARCH, inputSchema: { type: 'object', title: '\0' } }],
      'characters that cannot be stored',
    ],
  ])('is refused when a tool %s', async (_, tools, message) => {
    await serveMcp(tools)
    expect(await publish(docs('search'))).toMatchObject({
      status: 422,
      message: expect.stringContaining(message),
      details: { problems: [expect.stringMatching(/^tools\.docs: /)] },
    })
  })

  it('is refused when the server cannot be used, and quotes none that is private', async () => {
    expect((await publish(docs('search')))['message']).toContain('cannot be reached (ECONNREFUSED)')
    await serveText('<h1>secret</h1>', 500)
    expect((await publish(docs('search')))['message']).toContain('HTTP 500')
    const hidden = { docs: { type: 'mcp', url: 'http://127.0.0.2:1/mcp', tools: ['search'] } }
    const { message } = await publish(hidden)
    expect(message).toContain('listing http://127.0.0.2:1 in TOOL_PRIVATE_ORIGINS')
  })

  it('is refused when two tools would have one name for the model', async () => {
    const both = {
      a: { type: 'mcp', url: `${origin()}/mcp`, tools: ['x.y'] },
      b: { type: 'mcp', url: `${origin()}/mcp`, tools: ['x_y'] },
      a_x_y: { type: 'calculator' },
    }
    expect(await publish(both)).toMatchObject({
      status: 422,
      message: expect.stringContaining('a.x.y and a_x_y would both be shown to the model as a_x_y'),
    })
  })
})

const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: '/{stage}/', variables: { stage: { default: 'v1' } } }],
  paths: {
    '/pets/{id}': {
      parameters: [{ $ref: '#/components/parameters/Id' }],
      get: {
        operationId: 'getPet',
        summary: 'Returns a pet',
        description: 'By its id.',
        parameters: [
          { name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'Authorization', in: 'header', required: true, schema: { type: 'string' } },
          { name: 'seen', in: 'cookie', schema: { type: 'string' } },
        ],
      },
      put: {
        operationId: 'putPet',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
      },
    },
    '/upload': {
      post: {
        operationId: 'upload',
        requestBody: { required: true, content: { 'multipart/form-data': {} } },
      },
    },
    '/mine': {
      get: { operationId: 'mine', parameters: [{ name: 's', in: 'cookie', required: true }] },
    },
    '/twice/{a}': {
      get: {
        operationId: 'twice',
        parameters: [
          { name: 'a', in: 'path', required: true },
          { name: 'a', in: 'query' },
        ],
      },
    },
  },
  components: {
    parameters: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'integer' } } },
    schemas: {
      Pet: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string' },
          nick: { type: 'string', nullable: true },
          friends: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
        },
      },
    },
  },
}

describe('publishing a version with operations of an OpenAPI document', () => {
  const pets = (operations: string[], more: object = {}) => ({
    pets: { type: 'http', openapi_url: `${origin()}/openapi.json`, operations, ...more },
  })

  it('stores where they are, and schemas that stand alone', async () => {
    await serveText(JSON.stringify(DOCUMENT))
    const { pets: tool } = published(await publish(pets(['getPet', 'putPet'])))
    expect(tool?.pinned).toEqual({
      base_url: `${origin()}/v1`,
      operations: [
        {
          name: 'getPet',
          description: 'Returns a pet\n\nBy its id.',
          method: 'GET',
          path: '/pets/{id}',
          parameters: [
            { name: 'id', in: 'path' },
            { name: 'fields', in: 'query' },
          ],
          input_schema: {
            type: 'object',
            properties: {
              id: { type: 'integer' },
              fields: { type: 'array', items: { type: 'string' } },
            },
            required: ['id'],
            additionalProperties: false,
          },
        },
        {
          name: 'putPet',
          description: '',
          method: 'PUT',
          path: '/pets/{id}',
          parameters: [{ name: 'id', in: 'path' }],
          input_schema: {
            type: 'object',
            properties: { id: { type: 'integer' }, body: { $ref: '#/$defs/Pet' } },
            required: ['id', 'body'],
            additionalProperties: false,
            $defs: {
              Pet: {
                type: 'object',
                required: ['name'],
                properties: {
                  name: { type: 'string' },
                  nick: { type: ['string', 'null'] },
                  friends: { type: 'array', items: { $ref: '#/$defs/Pet' } },
                },
              },
            },
          },
        },
      ],
    })
  })

  it('reads the API of the first crew of the manual', async () => {
    await serveExample()
    const url = `${origin()}/openapi.json`
    const { stock } = published(
      await publish({ stock: { type: 'http', openapi_url: url, operations: ['getStock'] } }),
    )
    expect(stock?.pinned).toMatchObject({ operations: [{ name: 'getStock', method: 'GET' }] })
    expect(await (await fetch(`${origin()}/stock/bolts`)).json()).toEqual({ pieces: 120 })
  })

  it('takes the document inline too', async () => {
    const openapi = { ...DOCUMENT, servers: [{ url: 'https://pets.test/api' }] }
    const answer = await publish({ pets: { type: 'http', openapi, operations: ['getPet'] } })
    expect(published(answer)['pets']?.pinned).toMatchObject({ base_url: 'https://pets.test/api' })
  })

  it.each([
    ['an operation that is not there', ['getPets'], 'no operation getPets. Did you mean getPet?'],
    ['a body that is no JSON', ['upload'], 'its body must be multipart/form-data'],
    ['a required cookie', ['mine'], 'needs the cookie s'],
    ['two parameters of one name', ['twice'], 'has two parameters a'],
  ])('is refused with %s', async (_, operations, message) => {
    await serveText(JSON.stringify(DOCUMENT))
    expect(await publish(pets(operations))).toMatchObject({
      status: 422,
      message: expect.stringContaining(message),
    })
  })

  it.each([
    ['HTML', { body: '<html>' }, 'no JSON object'],
    ['Swagger 2', { body: '{"swagger":"2.0"}' }, 'is not OpenAPI 3'],
    ['an error', { body: '{}', status: 404 }, 'answers with HTTP 404'],
    [
      'a loop',
      { body: `{"openapi":"3.1.0","paths":{"/x":{"$ref":"#/paths/~1x"}}}` },
      'round in circles',
    ],
  ])(
    'is refused when the document is %s',
    async (_, { body, status }: { body: string; status?: number }, message) => {
      await serveText(body, status)
      expect((await publish(pets(['getPet'])))['message']).toContain(message)
    },
  )

  it('is refused when the API has a private address, or none', async () => {
    const inside = { ...DOCUMENT, servers: [{ url: 'http://10.0.0.1/' }] }
    const tools = (openapi: object) => ({ pets: { type: 'http', openapi, operations: ['getPet'] } })
    expect((await publish(tools(inside)))['message']).toContain('10.0.0.1 has no public address')
    expect((await publish(tools(DOCUMENT)))['message']).toContain('give the tool a base_url')
  })
})

describe('publishing', () => {
  it('is refused while somebody changes the draft', async () => {
    const { id } = await call('POST', '/projects', { name: 'Slow' })
    const versions = `/projects/${String(id)}/versions`
    const url = `${origin()}/openapi.json`
    const tools = { pets: { type: 'http', openapi_url: url, operations: ['getPet'] } }
    await call('POST', versions, { definition: { ...definition, tools } })
    const changed = { ...definition, name: 'Changed meanwhile' }
    const server = await startHttpServer((_, response) => {
      void call('PUT', `${versions}/1`, { definition: changed }).then(() =>
        response.end(JSON.stringify(DOCUMENT)),
      )
    }, port)
    stop = () => server.stop()
    expect(await call('POST', `${versions}/1/publish`)).toMatchObject({
      status: 409,
      message: 'Version 1 was changed while it was being published. Publish it again.',
    })
    expect(await call('POST', `${versions}/1/publish`)).toMatchObject({
      status: 'published',
      definition: changed,
    })
  })
})
