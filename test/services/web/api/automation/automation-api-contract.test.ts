import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { inspectRoutes } from 'hono/dev'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import { isObject } from '../../../../../services/shared/is-object.ts'
import { definition } from '../../../../support/crew.ts'
import { completeRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import {
  bind,
  CLIENT,
  configure,
  openPlatformWithOauth,
  newCaller,
  SCOPE,
  settingsFor,
} from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { BASE_URL, readObject } from '../../support/platform.ts'

let oauth: PlatformWithOauth

beforeAll(async () => {
  oauth = await openPlatformWithOauth()
})

beforeEach(async () => {
  await oauth.sql`delete from executions`
})

afterAll(() => oauth.close())

const METADATA = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource"`

interface Call {
  readonly method?: string
  readonly token?: string
  readonly body?: string
  readonly accept?: string
}

const call = (
  path: string,
  { method = 'GET', token = oauth.token(), body, accept = '*/*' }: Call = {},
) =>
  fetch(oauth.api(path), {
    method,
    body: body ?? null,
    headers: { ...newCaller(token), accept, 'content-type': 'application/json' },
  })

const BODY = JSON.stringify({ inputs: { topic: 'whales' } })
const start = async () =>
  String((await readObject(await call('kickoff', { method: 'POST', body: BODY })))['kickoff_id'])

describe('the errors of SPEC 7 that concern automations', () => {
  const rows = [
    {
      what: 'a token lacking client_id, cid and azp',
      reason: 'missing_client_claim',
      changes: { cid: undefined },
      client: CLIENT,
      text: 'The token has none of the claims client_id, cid and azp.',
    },
    {
      what: "a client that differs from the automation's OAuth Client ID",
      reason: 'client_mismatch',
      changes: { cid: 'other' },
      client: CLIENT,
      text: 'The automation is bound to another OAuth client.',
    },
    {
      what: 'an automation with no OAuth Client ID',
      reason: 'automation_not_bound',
      changes: {},
      client: null,
      text: 'The automation has no OAuth Client ID.',
    },
  ]
  it.each(rows)('$what: 401 with its reason', async ({ reason, changes, client, text }) => {
    await bind(oauth.platform, oauth.acme, client)
    const response = await call('kickoff', {
      method: 'POST',
      token: oauth.token(changes),
      body: '{',
    })
    await bind(oauth.platform, oauth.acme, CLIENT)
    expect(response.status).toBe(401)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer realm="platform", error="invalid_token", error_description="${text}", ${METADATA}`,
    )
    expect(await response.json()).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: text,
      error: 'invalid_token',
      message: text,
      details: { reason },
      request_id: expect.any(String),
    })
  })

  it('an unavailable provider and no key at hand: 503 with Retry-After, never 401', async () => {
    const issuer = 'http://127.0.0.1:9'
    const service = await oauth.serve({ AUTOMATION_OAUTH_PRIVATE_ORIGINS: issuer })
    await configure(oauth.platform, oauth.acme, settingsFor(issuer))
    const url = oauth.api('inputs').replace(oauth.service.url, service.url)
    const response = await fetch(url, { headers: newCaller(oauth.token({ iss: issuer })) })
    await configure(oauth.platform, oauth.acme, settingsFor(oauth.idp.issuer))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('10')
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(await response.json()).toMatchObject({
      error: 'unavailable',
      details: { reason: 'idp_unavailable' },
    })
  })
})

describe('failed authentication', () => {
  it('gets 429 after 60 in a row from one address, while good tokens still pass', async () => {
    const [head, payload] = oauth.token().split('.')
    const headers = newCaller(`${head}.${payload}.${'A'.repeat(342)}`)
    // At once: one more is allowed each second, which a slow machine would never use up.
    const answers = await Promise.all(
      Array.from({ length: 70 }, () => fetch(oauth.api('inputs'), { headers })),
    )
    const refused = answers.filter(({ status }) => status === 429)
    expect(answers.filter(({ status }) => status === 401).length).toBeGreaterThanOrEqual(60)
    expect(refused.length).toBeGreaterThan(0)
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused[0]?.json()).toMatchObject({ error: 'rate_limited' })
    const good = { ...headers, authorization: `Bearer ${oauth.token()}` }
    expect((await fetch(oauth.api('inputs'), { headers: good })).status).toBe(200)
    const other = { ...headers, 'x-forwarded-for': '203.0.113.7' }
    expect((await fetch(oauth.api('inputs'), { headers: other })).status).toBe(401)
  })

  it('leaves one line with the reason and the client, and never the token', async () => {
    oauth.lines.length = 0
    const token = oauth.token({ cid: 'other-client' })
    await call('inputs', { token })
    expect(oauth.lines.filter(({ msg }) => msg === 'request')).toMatchObject([
      {
        auth: 'oauth',
        auth_refused: 'client_mismatch',
        client: 'other-client',
        automation_id: oauth.acme.research.automationId,
        organization_id: oauth.acme.organizationId,
        status: 401,
      },
    ])
    await call('inputs')
    expect(oauth.lines.at(-1)).toMatchObject({ auth: 'oauth', client: CLIENT, status: 200 })
    expect(JSON.stringify(oauth.lines)).not.toContain(token.slice(0, 30))
  })
})

describe('the metrics of the web service', () => {
  it('count the decisions about tokens, and the fetches of keys', async () => {
    const service = await oauth.serve({ METRICS_PORT: '0' })
    const url = oauth.api('inputs').replace(oauth.service.url, service.url)
    for (const token of [oauth.token(), oauth.token({ cid: 'x' }), 'pat_x']) {
      await fetch(url, { headers: newCaller(token) })
    }
    const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text()
    expect(metrics).toContain('web_api_auth_total{scheme="oauth",result="accepted"} 1')
    expect(metrics).toContain('web_api_auth_total{scheme="oauth",result="client_mismatch"} 1')
    expect(metrics).toContain('web_api_auth_total{scheme="none",result="unsupported_token_kind"} 1')
    expect(metrics).toContain('web_idp_key_fetches_total{result="ok"} 1')
    expect(metrics).toContain('web_idp_stale_keys_total 0')
  })
})

describe('POST stop (SPEC 4.4)', () => {
  it('stops a run that is not over, once and again', async () => {
    const id = await start()
    for (const _ of [1, 2]) {
      const response = await call(`stop/${id}`, { method: 'POST' })
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({ kickoff_id: id, status: 'stopped', state: 'REVOKED' })
    }
    expect(await readObject(await call(`status/${id}`))).toMatchObject({ status: 'stopped' })
  })

  it('answers 409 for one that is over, and 404 for one that is not there', async () => {
    const id = await start()
    const [lease] = await takeRuns(oauth.sql, 1)
    if (!lease) throw new Error('nothing to take')
    await completeRun(oauth.sql, lease, {
      output: 'x',
      usage: { inputTokens: 1, outputTokens: 1 },
    })
    const over = await call(`stop/${id}`, { method: 'POST' })
    expect(over.status).toBe(409)
    expect(await over.json()).toMatchObject({ error: 'conflict', details: { status: 'completed' } })
    const none = await call('stop/00000000-0000-4000-8000-000000000000', { method: 'POST' })
    expect(none.status).toBe(404)
    expect((await call(`stop/${id}`)).status).toBe(405)
    expect(
      (await call(`stop/${id}`, { method: 'POST', token: oauth.token({ cid: 'x' }) })).status,
    ).toBe(401)
  })
})

describe('GET /.well-known/oauth-protected-resource (RFC 9728)', () => {
  const metadata = async () =>
    readObject(await fetch(`${oauth.service.url}/.well-known/oauth-protected-resource`))

  it('names the only authorization server, and no tenant when there are more', async () => {
    const resource = {
      resource: BASE_URL,
      resource_name: 'Automation API',
      bearer_methods_supported: ['header'],
    }
    expect(await metadata()).toEqual({
      ...resource,
      authorization_servers: [oauth.idp.issuer],
      scopes_supported: [SCOPE],
    })
    await configure(oauth.platform, oauth.rival, settingsFor('https://other.test'))
    expect(await metadata()).toEqual(resource)
    await configure(
      oauth.platform,
      oauth.rival,
      settingsFor('https://other.test', { enabled: false }),
    )
    expect(await metadata()).toHaveProperty('authorization_servers')
  })
})

/** What programs may use; the diagnostic report hides, and is described nowhere. */
const APIS = new RegExp(
  String.raw`^/((platform|designer|hooks|tools|\.well-known)/` +
    String.raw`|(health(/(live|ready))?|openapi\.json|mcp|oauth/token)$)`,
)
const toSnake = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const toTemplate = (path: string): string =>
  path.replace(/:(\w+)/g, (_, name: string) => `{${toSnake(name)}}`)

describe('GET /openapi.json', () => {
  interface Operation {
    readonly operationId?: string
    readonly responses?: Record<string, unknown>
  }
  interface Document {
    readonly paths: Record<string, Record<string, Operation>>
    readonly components: { readonly schemas: Record<string, object> }
  }
  const read = async (): Promise<Document> => {
    const response = await fetch(`${oauth.service.url}/openapi.json`)
    // The document is ours; the tests below look at what is in it.
    return (await response.json()) as Document
  }

  it('describes each route that is mounted, and no other', async () => {
    const mounted = inspectRoutes(oauth.app)
      .filter(
        ({ path, method, isMiddleware }) => APIS.test(path) && method !== 'ALL' && !isMiddleware,
      )
      .map(({ path, method }) => `${method.toLowerCase()} ${toTemplate(path)}`)
    const described = Object.entries((await read()).paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((key) => key !== 'parameters')
        .map((method) => `${method} ${path}`),
    )
    expect(described.sort()).toEqual(mounted.sort())
    expect(described.length).toBeGreaterThan(30)
  })

  it('is valid by the schema of OpenAPI 3.1', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate({ ...(await read()) })
    expect(errors ?? []).toEqual([])
    expect([valid, validator.version]).toEqual([true, '3.1'])
  })

  const automationToken = () =>
    issueStaticToken(oauth.sql, {
      organizationId: oauth.acme.organizationId,
      deploymentId: null,
      name: 'reader',
      createdBy: null,
    })

  it.each(['of all APIs', 'of one automation'])('%s has all that it refers to', async (which) => {
    const document =
      which === 'of all APIs'
        ? await read()
        : await readObject(await call('openapi.json', { token: await automationToken() }))
    const text = JSON.stringify(document)
    const names = [...text.matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref]) => String(ref))
    const found = Object.keys(Object(Object(document.components).schemas))
    const referred = names.map((ref) => ref.replace('#/components/schemas/', ''))
    expect(new Set(referred)).toEqual(new Set(found))
    expect(found.length).toBeGreaterThan(15)
  })

  it.each([
    { name: 'ProjectRequest', path: '/projects', body: { name: 'a\u0001b' } },
    { name: 'ProjectRequest', path: '/projects', body: { name: ' a' } },
    { name: 'BudgetRequest', path: '/budgets/day', method: 'PUT', body: {} },
    { name: 'BudgetRequest', path: '/budgets/day', method: 'PUT', body: { usd_max: null } },
    {
      name: 'VersionRequest',
      path: '/projects/1/versions',
      body: { definition: { ...definition, manager_agent: 'writer' } },
    },
    {
      name: 'VersionRequest',
      path: '/projects/1/versions',
      body: { definition: { ...definition, process: 'hierarchical' } },
    },
    { name: 'ResumeRequest', path: 'resume', body: { task: 'write', decision: 'edit' } },
    { name: 'ResumeRequest', path: 'resume', body: { decision: 'approve' } },
    { name: 'ResumeRequest', path: 'resume', body: { task: '', decision: 'reject' } },
  ])('refuses as $name what the server refuses: $body', async ({ name, path, method, body }) => {
    const { components } = await read()
    const validate = new Ajv2020({ strict: false, validateFormats: false })
      .addSchema({ $id: 'api', components })
      .compile({ $ref: `api#/components/schemas/${name}` })
    expect(validate(body)).toBe(false)
    const url =
      path === 'resume'
        ? oauth.api(`resume/${await start()}`)
        : `${oauth.service.url}/designer/v2${path.replace('/1/', `/${await projectId()}/`)}`
    const token = path === 'resume' ? oauth.token() : await automationToken()
    const response = await fetch(url, {
      method: method ?? 'POST',
      body: JSON.stringify(body),
      headers: { ...newCaller(token), 'content-type': 'application/json' },
    })
    expect(response.status).toBe(422)
  })

  const projectId = async (): Promise<number> => {
    const [project] = await oauth.sql<[{ id: number }]>`
      insert into projects (organization_id, name)
      values (${oauth.acme.organizationId}, ${crypto.randomUUID()}) returning id`
    return project.id
  }

  it('describes each address that asks for a token', async () => {
    const guarded = inspectRoutes(oauth.app)
      .filter(({ name }) => name === 'authenticate')
      .map(({ path }) => toTemplate(path))
    const described = Object.keys((await read()).paths)
    expect(guarded.length).toBeGreaterThan(30)
    expect(guarded.filter((path) => !described.includes(path))).toEqual([])
  })

  it('says of each call that takes a token that too many bad ones are answered 429', async () => {
    const operations = Object.values((await read()).paths)
      .flatMap((methods) => Object.values(methods))
      .filter((operation) => operation.responses?.['401'] !== undefined)
    expect(operations.length).toBeGreaterThan(20)
    for (const { operationId, responses } of operations)
      expect(Object.keys(responses ?? {}), operationId).toContain('429')
  })

  const createCheck = async () => {
    const { components } = await read()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: 'api', components })
    return async (name: string, response: Response): Promise<Record<string, unknown>> => {
      const validate = ajv.compile({ $ref: `api#/components/schemas/${name}` })
      const body = await readObject(response)
      expect(validate(body), JSON.stringify([body, validate.errors])).toBe(true)
      return body
    }
  }

  it('has the schema of each answer of the designer and of the health', async () => {
    const check = await createCheck()
    const token = await issueStaticToken(oauth.sql, {
      organizationId: oauth.acme.organizationId,
      deploymentId: null,
      name: 'designer',
      createdBy: null,
    })
    const design = (path: string, given?: object) =>
      fetch(`${oauth.service.url}/designer/v2${path}`, {
        method: given ? 'POST' : 'GET',
        body: given ? JSON.stringify(given) : null,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      })
    const project = await check('Project', await design('/projects', { name: 'Described' }))
    const id = Number(project['id'])
    const inputs = ['topic', { name: 'words', type: 'integer', default: 200 }]
    await check(
      'Version',
      await design(`/projects/${id}/versions`, { definition: { ...definition, inputs } }),
    )
    await check('Version', await design(`/projects/${id}/versions/1/publish`, {}))
    await check('VersionList', await design(`/projects/${id}/versions`))
    await check('ProjectList', await design('/projects?limit=1'))
    await call('kickoff', { method: 'POST', body: BODY })
    const { executions } = await check('RunList', await design('/executions'))
    expect(executions).toHaveLength(1)
    const kickoffId = JSON.stringify(executions).match(/"kickoff_id":"([^"]+)"/)?.[1]
    await check('Run', await design(`/executions/${kickoffId}`))
    await check('Problem', await design('/projects', { name: 7 }))
    await check('Problem', await design('/projects/999999'))
    await check('Health', await fetch(`${oauth.service.url}/health`))
  })

  it('has words of a type, each once, as generators of clients need them', async () => {
    const enums: Record<string, unknown>[] = []
    JSON.stringify(await read(), (_, value: unknown) => {
      if (isObject(value) && ('const' in value || Array.isArray(value['enum']))) enums.push(value)
      return value
    })
    expect(enums.length).toBeGreaterThan(15)
    const bad = enums.filter(({ type, enum: words }) => {
      const all = Array.isArray(words) ? words : []
      return new Set(all).size < all.length || (all.length > 0 && type === undefined)
    })
    expect(bad).toEqual([])
  })

  it('names, groups and describes each operation, once', async () => {
    const operations = Object.values((await read()).paths).flatMap((methods) =>
      Object.entries(methods)
        .filter(([key]) => key !== 'parameters')
        .map(([, operation]) => operation),
    )
    const ids = operations.map((operation) => 'operationId' in operation && operation.operationId)
    expect(new Set(ids).size).toBe(operations.length)
    for (const operation of operations) {
      expect(operation).toMatchObject({ summary: expect.any(String), tags: [expect.any(String)] })
    }
  })

  it('has the schema of each answer', async () => {
    const check = await createCheck()
    const kickoff = await call('kickoff', { method: 'POST', body: BODY })
    const id = String((await readObject(kickoff.clone()))['kickoff_id'])
    await check('Kickoff', kickoff)
    await check('Inputs', await call('inputs'))
    await check('Status', await call(`status/${id}`))
    await check('Stopped', await call(`stop/${id}`, { method: 'POST' }))
    await check('Status', await call(`status/${id}`))
    const sent = { method: 'POST', body: 'text' }
    await check('File', await call('files?name=a.txt', sent))
    await check('Artifacts', await call(`runs/${id}/artifacts`))
    await check('EventPage', await call(`events/${id}`, { accept: 'application/json' }))
    await check('Problem', await call('inputs', { token: 'x.y.z' }))
    await check('Problem', await call('kickoff', { method: 'POST', body: '{' }))
  })
})
