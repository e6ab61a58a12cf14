import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { start as startCrew } from '../../../services/crew/start.ts'
import { markOnline } from '../../../services/platform/automations/automations.ts'
import { listProgress } from '../../../services/platform/runs/progress.ts'
import { findRun, kickoff } from '../../../services/platform/runs/runs.ts'
import { crewToken } from '../../../services/shared/crew-token.ts'
import { createLog } from '../../../services/shared/log.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { start as startWorker } from '../../../services/worker/start.ts'
import { definition } from '../../support/crew.ts'
import { freePort } from '../../support/free-port.ts'
import { startHttpServer } from '../../support/http-server.ts'
import { startMcpServer } from '../../support/mcp-server.ts'
import { asks, says, startFakeModel } from '../crew/fake-model.ts'
import type { Answer, FakeModel } from '../crew/fake-model.ts'
import { openPlatformWithConnections } from '../web/support/platform-with-connections.ts'
import type { PlatformWithConnections } from '../web/support/platform-with-connections.ts'
import { readObject, SECRET } from '../web/support/platform.ts'
import type { SignedInUser, Tenant } from '../web/support/platform.ts'
import { workerEnv } from './harness.ts'

const TOKEN_SECONDS = 5
/** The headers and the outcomes of the calls of the API. */
const calls: { readonly authorization: string; readonly key: string; readonly status: number }[] =
  []
const lines: string[] = []
let platform: PlatformWithConnections
let model: FakeModel
let api: Awaited<ReturnType<typeof startHttpServer>>
let mcpPort: number
let ada: SignedInUser
let designerToken: string
const running: Service[] = []

/** An API that asks the provider whom a token is of, as many do. */
async function serveApi(request: IncomingMessage): Promise<[status: number, body: object]> {
  const { authorization = '', 'x-api-key': key = '' } = request.headers
  const me = await fetch(`${platform.idp.issuer}/me`, { headers: { authorization } })
  const status = me.ok || key === 'static-canary' ? 200 : 401
  calls.push({ authorization, key: String(key), status })
  return [status, { items: [`echo ${authorization}`] }]
}

beforeAll(async () => {
  mcpPort = await freePort()
  api = await startHttpServer((request, response) => {
    void serveApi(request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  const origins = [api.url, `http://127.0.0.1:${mcpPort}`]
  platform = await openPlatformWithConnections({ origins, accessTokenSeconds: TOKEN_SECONDS })
  model = await startFakeModel()
  ada = await platform.signIn(platform.acme)
  designerToken = await platform.issueToken(platform.acme)
  for (const tenant of [platform.acme, platform.rival]) await deployCrew(tenant)
  await platform.connect(ada)
})

beforeEach(() => {
  calls.length = 0
})

afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.stop()))
})

afterAll(async () => {
  await Promise.all(crews.map((crew) => crew.stop()))
  await model.stop()
  await platform.close()
  await api.stop()
})

const crews: Service[] = []
async function deployCrew({ research }: Tenant): Promise<void> {
  const crew = await startCrew(
    {
      HOST: '127.0.0.1',
      PORT: '0',
      CREW_DEFINITION: JSON.stringify(definition),
      CREW_TOKEN: crewToken(SECRET, research.automationId),
      OPENAI_BASE_URL: model.baseUrl,
      TOOL_PRIVATE_ORIGINS: api.url,
    },
    { log: logTo(lines) },
  )
  crews.push(crew)
  await markOnline(platform.sql, research.id, crew.url)
}

const logTo = (destination: string[]) =>
  createLog({
    name: 'test',
    level: 'debug',
    destination: { write: (line: string) => void destination.push(line) },
  })

async function work(env: Record<string, string> = {}): Promise<void> {
  const variables = {
    ...workerEnv(platform.url),
    SECRET_KEY_BASE: SECRET,
    CREW_PATIENCE_SECONDS: '1',
    ...platform.variables,
    ...env,
  }
  running.push(await startWorker(variables, { log: logTo(lines) }))
}

const files = (connection: string, more: object = {}) => ({
  files: {
    type: 'http',
    openapi: {
      openapi: '3.1.0',
      servers: [{ url: api.url }],
      paths: { '/files': { get: { operationId: 'listFiles' } } },
    },
    operations: ['listFiles'],
    connection,
    ...more,
  },
})

/** Publishes a version of the research project with these tools, as the designer does. */
async function publish(tools: object, token = designerToken, tenant = platform.acme) {
  const call = async (path: string, body: object = {}) => {
    const response = await platform.app.request(`http://platform.test/designer/v2${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, ...(await readObject(response)) } as Record<string, unknown>
  }
  const [{ id }] = await platform.sql<[{ id: number }]>`
    select id from projects where name = 'research'
      and organization_id = ${tenant.organizationId}`
  const [first, ...others] = definition.agents
  const agents = [{ ...first, tools: Object.keys(tools) }, ...others]
  const [task] = definition.tasks
  const draft = { definition: { ...definition, tools, agents, tasks: [task] } }
  const { number } = await call(`/projects/${id}/versions`, draft)
  return call(`/projects/${id}/versions/${String(number)}/publish`)
}

async function run(tenant = platform.acme) {
  const { id: deploymentId } = tenant.research
  const id = await kickoff(platform.sql, { deploymentId, inputs: { topic: 'whales' } })
  const status = async () => (await findRun(platform.sql, deploymentId, id))?.status ?? ''
  await expect.poll(status).toMatch(/completed|error/)
  return { id, ...(await findRun(platform.sql, deploymentId, id)) }
}

describe('a run whose tools name connections', () => {
  it('calls an API with the token of its organization, which nobody else sees', async () => {
    expect(await publish(files('files'))).toMatchObject({ status: 'published' })
    model.play(asks(['listFiles', {}]), says('Two files.'))
    await work()
    const { id, status } = await run()
    expect(status).toBe('completed')
    expect(calls.map((call) => call.status)).toEqual([200])
    const token = /^Bearer (.{20,})$/.exec(calls[0]?.authorization ?? '')?.[1] ?? ''
    expect(token).not.toBe('')
    const events = JSON.stringify(await listProgress(platform.sql, id, 1000))
    expect(events).toContain('echo Bearer [token]')
    const [kept] = await platform.sql<[{ all: string }]>`
      select coalesce(json_agg(s)::text, '') || (select json_agg(c)::text from oauth_connections c)
        as all from run_steps s`
    const said = JSON.stringify(model.requests.map(({ body }) => body))
    const logs = [...lines, ...platform.oauthLines, JSON.stringify(platform.lines)].join('')
    for (const text of [events, kept.all, said, logs]) expect(text).not.toContain(token)
  })

  it('gets another token before one ends', async () => {
    const goOn: Answer = (response, request) => {
      const isRenewed = new Set(calls.map(({ authorization }) => authorization)).size > 1
      const next = isRenewed ? says('Done.') : asks(['listFiles', {}])
      next(response, request)
    }
    const afterRefresh: Answer = (response, request) => {
      const before = platform.idp.count('/token')
      void expect
        .poll(() => platform.idp.count('/token'), { timeout: TOKEN_SECONDS * 3000 })
        .toBeGreaterThan(before)
        .then(() => goOn(response, request))
    }
    await publish(files('files'))
    model.play(asks(['listFiles', {}]), afterRefresh, goOn)
    await work()
    expect(await run()).toMatchObject({ status: 'completed', output: 'Done.' })
    expect(new Set(calls.map(({ authorization }) => authorization)).size).toBe(2)
    expect(calls.map(({ status }) => status)).not.toContain(401)
  })

  it('sends a key in the header that the API asks for', async () => {
    const key = { provider: 'token', name: 'keyed', header: 'X-API-Key', prefix: '' }
    await platform.post('/connections', ada, { ...key, token: 'static-canary' })
    await publish(files('keyed'))
    model.play(asks(['listFiles', {}]), says('Fine.'))
    await work()
    expect(await run()).toMatchObject({ status: 'completed' })
    expect(calls).toEqual([{ authorization: '', key: 'static-canary', status: 200 }])
  })

  it('says who it is where a connection is its identity, and lists that on its page', async () => {
    const { host } = new URL(api.url)
    const identity = { provider: 'identity', name: 'who', audience: 'https://files.test' }
    await platform.post('/connections', ada, { ...identity, hosts: host })
    expect(await publish(files('who'))).toMatchObject({ status: 'published' })
    model.play(asks(['listFiles', {}]), says('Fine.'))
    await work()
    const { id, status } = await run()
    expect(status).toBe('completed')
    const [call] = calls
    const claims = decodeJwt((call?.authorization ?? '').replace('Bearer ', ''))
    expect(claims).toMatchObject({ aud: 'https://files.test', kickoff_id: id })
    expect(claims.sub).toMatch(new RegExp(`:run:${id}$`))
    const path = `/automations/${platform.acme.research.automationId}/executions/${id}`
    const page = await platform.app.request(path, { headers: { cookie: ada.cookie } })
    expect(await page.text()).toContain('https://files.test')
  })

  it('is handed the connections of its version, and no others', async () => {
    await platform.connect(ada, { name: 'unused' })
    await publish(files('files'))
    let kickedOff = ''
    const crew = createServer((request, response) => {
      if (request.url === '/describe') return void response.writeHead(404).end()
      request.on('data', (chunk: Buffer) => (kickedOff += chunk.toString()))
      request.on('end', () => {
        const usage = { input_tokens: 0, output_tokens: 0 }
        const at = new Date().toISOString()
        response.writeHead(200, { 'content-type': 'application/x-ndjson' })
        response.end(`${JSON.stringify({ type: 'crew_completed', at, output: 'x', usage })}\n`)
      })
    })
    const port = await freePort()
    crew.listen(port, '127.0.0.1')
    const { research } = platform.acme
    const former = crews[0]?.url ?? ''
    await markOnline(platform.sql, research.id, `http://127.0.0.1:${port}`)
    await work()
    expect(await run()).toMatchObject({ status: 'completed' })
    await markOnline(platform.sql, research.id, former)
    crew.close()
    const { connections } = JSON.parse(kickedOff) as Record<string, object>
    expect(connections).toEqual({
      files: { access_token: expect.any(String), expires_at: expect.any(String) },
    })
  })

  it.each<[string, () => Promise<unknown>, [code: string, message: RegExp]]>([
    [
      'was deleted',
      async () => platform.post(`/connections/${await platform.idOf('broken')}/delete`, ada),
      [
        'connection_missing',
        /needs the connection broken, which your organization does not have\. Create and connect/,
      ],
    ],
    [
      'was revoked here',
      async () => platform.post(`/connections/${await platform.idOf('broken')}/revoke`, ada),
      [
        'connection_not_connected',
        /broken is not connected: it was revoked\. Connect it on the page Connections/,
      ],
    ],
    [
      'is no longer accepted by its provider',
      async () => {
        await platform.age(await platform.idOf('broken'), 'expired')
        platform.idp.intercept('/token', (_, response) => {
          response.writeHead(400, { 'content-type': 'application/json' })
          response.end('{"error":"invalid_grant"}')
        })
      },
      ['connection_not_connected', /its provider no longer accepts the authorization/],
    ],
    [
      'has a provider in trouble',
      async () => {
        await platform.age(await platform.idOf('broken'), 'expired')
        platform.idp.intercept('/token', (_, response) => void response.writeHead(503).end())
      },
      ['connection_unavailable', /broken gives no token: .*Test it on the page Connections/],
    ],
    [
      'may no longer be sent to the API',
      async () => {
        await platform.sql`update oauth_connections set hosts = '{api.example.com}'
          where name = 'broken'`
      },
      ['connection_not_for_address', /may go to api\.example\.com only/],
    ],
  ])('ends with what to do when a connection %s', async (_, breakIt, [code, message]) => {
    await platform.connect(ada, { name: 'broken' })
    await publish(files('broken'))
    await breakIt()
    await work()
    const { status, error } = await run()
    platform.idp.intercept('/token')
    await platform.sql`delete from oauth_connections where name = 'broken'`
    expect([status, error?.code]).toEqual(['error', code])
    expect(error?.message).toMatch(message)
    expect(calls).toEqual([])
  })

  it('never gets the connection of another organization, nor one without the service', async () => {
    const tools = files('files')
    await publish(tools)
    const rival = await platform.issueToken(platform.rival)
    const eve = await platform.signIn(platform.rival)
    expect(await publish(tools, rival, platform.rival)).toMatchObject({
      status: 422,
      message: expect.stringContaining('there is no connection files. There are none.'),
    })
    await platform.connect(eve)
    await publish(tools, rival, platform.rival)
    await platform.sql`
      delete from oauth_connections where organization_id = ${platform.rival.organizationId}`
    await work()
    const { error } = await run(platform.rival)
    expect(error).toMatchObject({ code: 'connection_missing' })
    await Promise.all(running.splice(0).map((service) => service.stop()))
    await work({ PLATFORM_OAUTH_API_BASE_URL: '' })
    expect((await run()).error).toMatchObject({
      code: 'connection_unusable',
      message: expect.stringContaining('no OAuth service'),
    })
  })
})

describe('publishing a version whose tools name connections', () => {
  it('refuses one that is not there, with the list of those that are', async () => {
    expect(await publish(files('filess'))).toMatchObject({
      status: 422,
      message: expect.stringMatching(/no connection filess\. Did you mean files\? There are files/),
    })
  })

  it('refuses a tool that would send the token elsewhere than it may go', async () => {
    await platform.connect(ada, { name: 'bound', hosts: 'api.example.com' })
    expect(await publish(files('bound'))).toMatchObject({
      status: 422,
      message: expect.stringContaining('may go to api.example.com only'),
    })
  })

  it('reads the tools of an MCP server with the token, unless it may not go there', async () => {
    const tool = {
      name: 'look',
      inputSchema: { type: 'object' as const },
    }
    const server = await startMcpServer([tool], { port: mcpPort, token: 'mcp-canary' })
    const entered = { provider: 'token', header: 'Authorization', prefix: 'Bearer' }
    const add = (fields: Record<string, string>) =>
      platform.post('/connections', ada, { ...entered, token: 'mcp-canary', ...fields })
    await add({ name: 'notes' })
    await add({ name: 'elsewhere', hosts: 'mcp.example.com' })
    await add({ name: 'wrong', token: 'another' })
    const mcp = (connection: string) => ({
      notes: { type: 'mcp', url: server.url, tools: ['look'], connection },
    })
    expect(await publish(mcp('notes'))).toMatchObject({ status: 'published' })
    expect(await publish(mcp('elsewhere'))).toMatchObject({
      message: expect.stringContaining('may go to mcp.example.com only'),
    })
    expect(await publish(mcp('wrong'))).toMatchObject({ status: 422 })
    await platform.post(`/connections/${await platform.idOf('notes')}/revoke`, ada)
    expect(await publish(mcp('notes'))).toMatchObject({
      message: expect.stringContaining('has to be authorized: it was revoked here'),
    })
    await server.stop()
  })
})
