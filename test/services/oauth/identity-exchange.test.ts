import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { createWorkloadRule } from '../../../services/platform/workloads/workload-rules.ts'
import { start } from '../../../services/oauth/start.ts'
import { start as startWeb } from '../../../services/web/start.ts'
import type { Service } from '../../../services/shared/http/serve.ts'
import { createLog } from '../../../services/shared/log.ts'
import { freePort } from '../../support/free-port.ts'
import { environment, openPlatform, readObject } from '../web/support/platform.ts'
import type { Platform } from '../web/support/platform.ts'
import { API_KEY, ENCRYPTION_KEY } from './platform.ts'

const AUDIENCE = 'https://sts.example.com'
const log = createLog({ name: 'test', level: 'silent' })

let platform: Platform
let oauth: Service
let web: Service
let sts: Awaited<ReturnType<typeof startTokenService>>
let count = 0

beforeAll(async () => {
  const [platformOpened, ports] = await Promise.all([openPlatform(), freePort()])
  platform = platformOpened
  sts = await startTokenService()
  const webPort = await freePort()
  const webUrl = `http://127.0.0.1:${webPort}`
  const environmentOfOauth = {
    DATABASE_URL: platform.url,
    PORT: String(ports),
    HOST: '127.0.0.1',
    PLATFORM_OAUTH_API_KEY: API_KEY,
    OAUTH_ENCRYPTION_KEY: ENCRYPTION_KEY,
    OAUTH_PUBLIC_URL: `http://127.0.0.1:${ports}`,
    CONNECTION_PRIVATE_ORIGINS: [webUrl, sts.url].join(','),
  }
  oauth = await start(environmentOfOauth, { log, lingerMs: 0 })
  const environmentOfWeb = {
    ...environment(platform.url, webUrl),
    PORT: String(webPort),
    AUTOMATION_OAUTH_PRIVATE_ORIGINS: oauth.url,
  }
  web = await startWeb(environmentOfWeb, { log, lingerMs: 0 })
})
beforeEach(() => sts.answerWith({ access_token: 'theirs', token_type: 'Bearer', expires_in: 60 }))
afterAll(async () => {
  await Promise.all([oauth.stop(), web.stop(), sts.stop()])
  await platform.close()
})

/** A token service that takes down what it is asked, and answers as it is told. */
async function startTokenService() {
  const asked: { form: Record<string, string>; authorization: string | undefined }[] = []
  let answer: readonly [number, object] = [200, {}]
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(body))
      asked.push({ form, authorization: request.headers.authorization })
      response.writeHead(answer[0], { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer[1]))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answerWith: (body: object, status = 200) => void (answer = [status, body]),
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function post(path: string, body: object) {
  const response = await fetch(oauth.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await readObject(response) }
}

const create = (fields: object) =>
  post(`/organizations/${platform.acme.organizationId}/connections`, {
    provider: 'identity',
    kind: 'identity',
    audience: AUDIENCE,
    hosts: ['127.0.0.1'],
    name: `sts-${(count += 1)}`,
    ...fields,
  })

async function startRun(): Promise<string> {
  const { sql, acme } = platform
  const id = await kickoff(sql, { deploymentId: acme.research.id, inputs: { topic: 'tides' } })
  await sql`
    update executions set status = 'running', lease_id = gen_random_uuid(),
      lease_expires_at = now() + interval '1 minute' where id = ${id}`
  return id
}

async function tokenOf(fields: object) {
  const { body } = await create(fields)
  const path = `/connections/${String(body['connection_id'])}/token`
  const runId = await startRun()
  return { runId, ...(await post(path, { kickoff_id: runId })) }
}

const problemsOf = async (fields: object) => (await create(fields)).body['message']

describe('the identity of a run', () => {
  it('becomes a token of another automation here, which that run starts', async () => {
    const { sql, acme } = platform
    const audience = `${web.url}/platform/api/v1/crew/${acme.digest.automationId}`
    await createWorkloadRule(sql, acme.digest.id, {
      name: 'Runs',
      issuer: oauth.url,
      jwksUrl: null,
      claims: { organization_id: String(acme.organizationId), automation: 'acme-research' },
      scopes: ['kickoff', 'read'],
      minutes: 5,
      isReusable: false,
    })
    const exchange = { exchange: 'token_exchange', token_endpoint: `${web.url}/oauth/token` }
    const { status, body } = await tokenOf({ ...exchange, audience, parameters: { audience } })
    expect(status).toBe(200)
    const bearer = String(body['access_token'])
    expect(bearer).toMatch(/^pwt_/)
    expect(Date.parse(String(body['expires_at'])) - Date.now()).toBeGreaterThan(200_000)
    const started = await fetch(`${audience}/kickoff`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: '{"inputs":{}}',
    })
    expect(started.status).toBe(202)
    const stranger = await tokenOf({
      ...exchange,
      audience: AUDIENCE,
      parameters: { audience },
    })
    expect(stranger).toMatchObject({ status: 502 })
  })

  it('is exchanged in the form that the token service takes, without a secret', async () => {
    sts.asked.length = 0
    const given = { token_endpoint: `${sts.url}/token`, scopes: ['read'] }
    const tokens = [
      await tokenOf({ ...given, exchange: 'token_exchange', parameters: { audience: 'pool' } }),
      await tokenOf({ ...given, exchange: 'jwt_bearer' }),
      await tokenOf({ ...given, exchange: 'client_assertion', client_id: 'crews' }),
    ]
    for (const { status, body } of tokens) {
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { access_token: 'theirs', prefix: 'Bearer', scope: 'read' },
      })
    }
    const jwt = expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/)
    const urn = 'urn:ietf:params:oauth:'
    expect(sts.asked).toEqual(
      [
        {
          grant_type: `${urn}grant-type:token-exchange`,
          subject_token: jwt,
          subject_token_type: `${urn}token-type:jwt`,
          audience: 'pool',
          scope: 'read',
        },
        { grant_type: `${urn}grant-type:jwt-bearer`, assertion: jwt, scope: 'read' },
        {
          grant_type: 'client_credentials',
          client_assertion: jwt,
          client_assertion_type: `${urn}client-assertion-type:jwt-bearer`,
          client_id: 'crews',
          scope: 'read',
        },
      ].map((form) => ({ form, authorization: undefined })),
    )
    for (const [at, { form }] of sts.asked.entries()) {
      const sent = form['subject_token'] ?? form['assertion'] ?? form['client_assertion'] ?? ''
      expect(decodeJwt(sent)).toMatchObject({ aud: AUDIENCE, kickoff_id: tokens[at]?.runId })
    }
  })

  it('goes with a client and its secret where the token service wants one', async () => {
    sts.asked.length = 0
    const client = { client_id: 'crews', client_secret: 'ofTheClient' }
    await tokenOf({
      ...client,
      token_endpoint: `${sts.url}/token`,
      exchange: 'token_exchange',
      token_endpoint_auth_method: 'client_secret_basic',
    })
    const basic = `Basic ${Buffer.from('crews:ofTheClient').toString('base64')}`
    expect(sts.asked).toMatchObject([{ authorization: basic }])
    expect(JSON.stringify(sts.asked[0]?.form)).not.toContain('ofTheClient')
  })

  it.each([
    [400, { error: 'invalid_grant' }, 403, 'identity_refused'],
    [400, { error: 'invalid_request' }, 502, undefined],
    [500, {}, 502, undefined],
    [200, { access_token: 'a\nb', token_type: 'Bearer' }, 502, undefined],
    [200, { token_type: 'Bearer' }, 502, undefined],
  ])('that is answered with %i %o is no token, and is sent nowhere else', async (...row) => {
    const [answered, answer, status, code] = row
    sts.answerWith(answer, answered)
    const exchange = { exchange: 'jwt_bearer', token_endpoint: `${sts.url}/token` }
    const { body, ...found } = await tokenOf(exchange)
    expect(found.status).toBe(status)
    if (code !== undefined) expect(body).toMatchObject({ details: { code } })
    expect(JSON.stringify(body)).not.toContain('eyJ')
  })
})

describe('a connection that exchanges', () => {
  it.each<[string, object, string]>([
    ['nowhere', {}, 'token_endpoint is needed, or the issuer instead'],
    ['elsewhere than over TLS', { token_endpoint: 'http://sts.test/' }, 'token_endpoint'],
    ['by a page', { authorization_endpoint: 'https://a.test/' }, 'does not belong'],
    ['with its own words', { parameters: { subject_token: 'x' } }, 'cannot be given'],
    ['with a secret of no client', { token_endpoint_auth_method: 'client_secret_post' }, 'beside'],
    ['with a secret that is not sent', { client_secret: 'x' }, 'is not sent with this method'],
    ['in no known form', { exchange: 'saml' }, 'exchange'],
  ])('does so %s: refused', async (_, fields, message) => {
    const { token_endpoint: endpoint = `${sts.url}/token` } = fields as { token_endpoint?: string }
    const given = {
      exchange: 'token_exchange',
      ...(_ !== 'nowhere' && { token_endpoint: endpoint }),
    }
    expect(await problemsOf({ ...given, ...fields })).toContain(message)
  })

  it('proves a client, so it names one, and has no secret of it', async () => {
    const given = { exchange: 'client_assertion', token_endpoint: `${sts.url}/token` }
    expect(await problemsOf(given)).toContain('client_id is required')
    const basic = { client_id: 'x', token_endpoint_auth_method: 'client_secret_basic' }
    expect(await problemsOf({ ...given, ...basic })).toContain('must be none')
  })

  it('is the only kind that does', async () => {
    const token = { kind: 'static_token', token: 'x', audience: undefined }
    expect(await problemsOf({ ...token, exchange: 'jwt_bearer' })).toContain('does not belong')
  })
})
