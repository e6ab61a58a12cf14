import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  createLlmConnection,
  setSealedKey,
} from '../../../../services/platform/connections/llm-connections.ts'
import { createLlmKeys } from '../../../../services/platform/connections/llm-keys.ts'
import { addressUrl } from '../../../support/address-url.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { EnvSource } from '../../../../services/shared/env.ts'
import type { ComponentName } from '../../../../services/web/diagnostics/checks/list.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { DiagnosticsDeps } from '../../../../services/web/diagnostics/deps.ts'
import { LIMITS } from '../../../../services/web/diagnostics/run-checks.ts'
import { codeOf, resultOf, warningsOf } from './support/web.ts'
import type { WebOptions } from './support/web.ts'
import {
  blackHole,
  closed,
  dripping,
  hanging,
  httpServer,
  huge,
  json,
  page,
  redirect,
  resetting,
  silent,
  socketServer,
} from './support/faults.ts'
import type { Fault } from './support/faults.ts'
import { useInstallation } from './support/installation.ts'

const KEY = 'an-api-key-of-the-oauth-service-of-32-characters'

const installation = useInstallation()

const reportOf = (name: ComponentName, env: EnvSource = {}, rest: Partial<WebOptions> = {}) =>
  resultOf(name, { databaseUrl: installation.url, env, ...rest })

async function during<Result>(
  fault: Promise<Fault>,
  use: (fault: Fault) => Promise<Result>,
): Promise<Result> {
  const server = await fault
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

/** What a service that is asked over HTTP can do, and how the failure begins. */
const FAULTS: readonly [string, () => Promise<Fault>, RegExp][] = [
  ['a closed port', closed, /^ConnectionFailed: .*ECONNREFUSED/],
  ['a reset', resetting, /^ConnectionFailed: .*(ECONNRESET|hang up)/],
  ['silence', silent, /^TimeoutError: /],
  ['a black hole', blackHole, /^TimeoutError: /],
]

describe('database', () => {
  const at = (change: Partial<ReturnType<typeof parseAddress>>) =>
    addressUrl({ ...parseAddress(installation.url), ...change })

  const failing = (databaseUrl: string, limits = LIMITS) =>
    resultOf('database', { databaseUrl, diagnostics: { limits } })

  it('passes with a statement', async () => {
    expect(await reportOf('database')).toEqual({
      status: 'ok',
      latency_ms: expect.any(Number),
      checks: ['select_1'],
      details: { size_bytes: expect.any(Number) },
    })
  })

  it.each([
    ['a closed port', closed, /^db_unreachable ConnectionFailed: .*ECONNREFUSED/],
    ['a reset', resetting, /^db_unreachable ConnectionFailed: /],
    ['silence', silent, /^db_timeout TimeoutError: /],
    ['a black hole', blackHole, /^db_timeout TimeoutError: /],
    ['a web server', () => hanging(page(400)), /^db_\w+ (ConnectionFailed|TimeoutError): /],
    [
      '10 MB of noise',
      () => hanging(socketServer((socket) => socket.write(Buffer.alloc(10 << 20, 'R')))),
      /^db_\w+ (ConnectionFailed|TimeoutError): /,
    ],
  ] as const)('fails for %s', async (_, fault, failure) => {
    await during(fault(), async ({ port, limits }) => {
      const result = await failing(at({ host: '127.0.0.1', port }), limits)
      expect(result.status).toBe('fail')
      expect(`${codeOf(result)} ${result.error}`).toMatch(failure)
    })
  })

  it('fails for a database that is not there', async () => {
    const result = await failing(at({ database: 'nothing' }))
    expect(codeOf(result)).toBe('db_unreachable')
    expect(result.error).toMatch(/^ConnectionFailed: .*"nothing" does not exist/)
  })

  it('tells a refused login apart', async () => {
    const result = await failing(at({ user: 'nobody' }))
    expect(codeOf(result)).toBe('db_auth_failed')
    expect(result.error).toMatch(/^bad credentials: .*nobody/)
  })
})

describe('auth', () => {
  const discovery = (issuer: (fault: string) => string): Promise<Fault> => {
    const server = httpServer((request, response) => {
      const base = `http://${request.headers.host}`
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ issuer: issuer(base), jwks_uri: `${base}/keys` }))
    })
    return server
  }
  const client = { OIDC_CLIENT_ID: 'platform', OIDC_CLIENT_SECRET: 'x' }
  const ask = (url: string, limits = LIMITS) =>
    reportOf(
      'auth',
      { AUTH_PROVIDER: 'okta', OIDC_ISSUER_URL: url, ...client },
      { diagnostics: { limits } },
    )

  it('is skipped where people sign in with a password', async () => {
    expect(await reportOf('auth')).toEqual({ status: 'skipped', provider: 'local' })
  })

  it('passes with a discovery document of the issuer, with or without a final slash', async () => {
    for (const end of ['', '/']) {
      await during(
        discovery((base) => `${base}/tenant${end}`),
        async ({ url }) => {
          expect(await ask(`${url}/tenant${end}`)).toEqual({
            status: 'ok',
            latency_ms: expect.any(Number),
            provider: 'okta',
            http_status: 200,
          })
        },
      )
    }
  })

  it.each(FAULTS)('fails for %s', async (_, fault, error) => {
    await during(fault(), async ({ url, limits }) => {
      const result = await ask(url, limits)
      expect(result).toMatchObject({ status: 'fail', provider: 'okta' })
      expect(codeOf(result)).toBe('idp_unreachable')
      expect(result.error).toMatch(error)
      expect(result).not.toHaveProperty('http_status')
    })
  })

  it.each([
    ['HTTP 404', () => json(404, {}), 404],
    ['HTTP 500', () => json(500, {}), 500],
    ['HTTP 503', () => page(503), 503],
    ['HTTP 302', () => redirect('http://169.254.169.254/'), 302],
  ] as const)('fails for an answer that is none: %s', async (error, fault, status) => {
    await during(fault(), async ({ url }) => {
      const result = await ask(url)
      expect(result).toMatchObject({ status: 'fail', http_status: status })
      expect(result.error?.startsWith(error)).toBe(true)
      expect(codeOf(result)).toBe('idp_http_error')
    })
  })

  it.each([
    ['a web page', () => page()],
    ['10 MB', huge],
    ['null', () => json(200, null)],
    ['a document without jwks_uri', () => json(200, { issuer: 'https://idp.example' })],
  ] as const)('passes with a warning when the endpoint answers with %s', async (_, fault) => {
    await during(fault(), async ({ url }) => {
      const result = await ask(url)
      expect(result).toMatchObject({ status: 'ok', provider: 'okta', http_status: 200 })
      expect(result).not.toHaveProperty('error')
      expect(warningsOf(result)).toEqual([
        {
          code: 'idp_document_incomplete',
          message: 'HTTP 200 without a discovery document',
          remediation: expect.stringContaining('OIDC_ISSUER_URL'),
        },
      ])
    })
  })

  it('passes with a warning for the document of another issuer', async () => {
    await during(
      discovery(() => 'https://other.example'),
      async ({ url }) => {
        const result = await ask(url)
        expect(result).toMatchObject({ status: 'ok', http_status: 200 })
        expect(warningsOf(result)).toMatchObject([
          {
            code: 'idp_issuer_mismatch',
            message: expect.stringContaining('https://other.example'),
          },
        ])
      },
    )
  })

  it('keeps the HTTP status of an endpoint whose document does not arrive', async () => {
    await during(dripping(), async ({ url, limits }) => {
      const result = await ask(url, limits)
      expect(result).toMatchObject({ status: 'fail', provider: 'okta', http_status: 200 })
      expect(codeOf(result)).toBe('idp_unreachable')
      expect(result.error).toMatch(/^TimeoutError: /)
    })
  })
})

describe('collector', () => {
  const ask = ({ url, limits }: Fault) =>
    reportOf('collector', { COLLECTOR_URL: url }, { diagnostics: { limits } })

  it('is skipped when traces are off', async () => {
    expect(await reportOf('collector')).toEqual({ status: 'skipped' })
  })

  it('tells that its storage is full, or its clock wrong', async () => {
    const collector = { status: 'degraded', database: 'up', storage: 'full', clock: 'skewed' }
    await during(json(200, { ...collector, queue_bytes: 0 }), async (server) => {
      const { details } = await ask(server)
      expect(details).toMatchObject({ collector })
    })
  })

  it.each([
    [29, ['collector_storage_ends_soon']],
    [32, undefined],
  ])('warns a month before its storage is full: %i days', async (days, codes) => {
    const on = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    await during(json(200, { status: 'ok', storage_full_on: on }), async (server) => {
      const result = await ask(server)
      expect(result.status).toBe('ok')
      expect(result.details?.warnings?.map(({ code }) => code)).toEqual(codes)
    })
  })

  it('is well where no one can be asked about trace forwards', async () => {
    await during(json(200, { status: 'ok' }), async (server) => {
      const env = { COLLECTOR_URL: server.url }
      const nowhere = { databaseUrl: 'postgres://nobody@127.0.0.1:9/none', env }
      const result = await resultOf('collector', nowhere)
      expect(result).toMatchObject({ status: 'ok' })
      expect(result.details).not.toHaveProperty('warnings')
    })
  })

  it.each(['ok', 'degraded'])('passes when it says that it is %s', async (status) => {
    await during(json(200, { status, database: 'up' }), async (server) => {
      expect(await ask(server)).toMatchObject({ status: 'ok', details: { collector: { status } } })
    })
  })

  it.each([
    ...FAULTS,
    ['drops of an answer', dripping, /^TimeoutError: /],
    ['HTTP 503', () => json(503, { status: 'draining' }), /^HTTP 503 /],
    ['HTTP 404', () => page(404), /^HTTP 404 /],
    ['a redirect', () => redirect('https://example.com/'), /^HTTP 302 /],
  ] as const)('fails for %s', async (_, fault, error) => {
    await during(fault(), async (server) => {
      const result = await ask(server)
      expect(codeOf(result)).toBe('collector_unreachable')
      expect(result.error).toMatch(error)
    })
  })

  it.each([
    ['a web page', () => page()],
    ['10 MB', huge],
    ['an empty object', () => json(200, {})],
  ] as const)(
    'passes with a warning for an answer that is no health report: %s',
    async (_, fault) => {
      await during(fault(), async (server) => {
        const result = await ask(server)
        expect(result).toMatchObject({ status: 'ok', details: { host: new URL(server.url).host } })
        expect(warningsOf(result)).toMatchObject([
          { code: 'collector_unrecognized', message: expect.stringMatching(/^HTTP 200 without/) },
        ])
      })
    },
  )
})

describe('oauth', () => {
  const env = (url: string) => ({ PLATFORM_OAUTH_API_BASE_URL: url, PLATFORM_OAUTH_API_KEY: KEY })

  it('is skipped when it is not configured', async () => {
    expect(await reportOf('oauth')).toEqual({ status: 'skipped' })
  })

  it('tells which key this pod has, and not the key', async () => {
    await during(json(200, { status: 'ok' }), async ({ url }) => {
      const result = await reportOf('oauth', env(url))
      expect(result).toEqual({
        status: 'ok',
        latency_ms: expect.any(Number),
        details: {
          host: new URL(url).host,
          api_key_configured: true,
          api_key_fingerprint: createHash('sha256').update(KEY).digest('hex').slice(0, 12),
          pod: 'web-1',
        },
      })
    })
  })

  it('fails without the key on this pod, also when the service answers', async () => {
    await during(json(200, {}), async ({ url }) => {
      const result = await reportOf('oauth', { PLATFORM_OAUTH_API_BASE_URL: url })
      expect(codeOf(result)).toBe('oauth_key_missing')
      expect(result.error).toMatch(/^API key missing/)
      expect(result.details).toMatchObject({ api_key_configured: false, pod: 'web-1' })
      expect(result.details).not.toHaveProperty('api_key_fingerprint')
    })
  })

  it.each(FAULTS)('fails for %s, with the fingerprint all the same', async (_, fault, error) => {
    await during(fault(), async ({ url, limits }) => {
      const result = await reportOf('oauth', env(url), { diagnostics: { limits } })
      expect(codeOf(result)).toBe('oauth_unreachable')
      expect(result.error).toMatch(error)
      expect(result.details).toHaveProperty('api_key_fingerprint')
    })
  })

  it('passes with a warning when the service is reachable and fails inside', async () => {
    await during(json(503, {}), async ({ url }) => {
      const result = await reportOf('oauth', env(url))
      expect(result).toMatchObject({ status: 'ok', details: { api_key_configured: true } })
      expect(warningsOf(result)).toMatchObject([
        { code: 'oauth_http_error', message: 'HTTP 503 from the OAuth service' },
      ])
    })
  })

  it.each([401, 404])('passes when the service knows no such page (HTTP %s)', async (status) => {
    await during(json(status, {}), async ({ url }) => {
      expect(await reportOf('oauth', env(url))).toMatchObject({ status: 'ok' })
    })
  })
})

describe('tools', () => {
  it('passes with the public repository and the index', async () => {
    expect(await reportOf('tools')).toMatchObject({ status: 'ok' })
  })

  it('fails in the words of SPEC 2.3 without the repository', async () => {
    const fresh = await createDatabase('platform')
    const result = await resultOf('tools', { databaseUrl: fresh.url })
    expect(result.error).toBe('public tool repository not provisioned')
    expect(codeOf(result)).toBe('tool_repository_missing')
    expect(result.checks).toEqual(['tools_index_route_mounted'])
    await fresh.drop()
  })

  it('says that the tables are the problem where they are', async () => {
    const empty = await createDatabase('empty')
    const result = await resultOf('tools', { databaseUrl: empty.url })
    expect(codeOf(result)).toBe('tables_unreadable')
    expect(result.checks).toEqual(['tools_index_route_mounted'])
    await empty.drop()
  })
})

describe('llm_connections', () => {
  let connections = 0
  const connect = (provider: string, baseUrl: string | null = null) =>
    createLlmConnection(installation.sql, {
      organizationId: installation.organizationId,
      name: `connection ${(connections += 1)}`,
      provider,
      model: 'm',
      baseUrl,
    })

  const ask = (env: EnvSource, diagnostics: DiagnosticsDeps = {}) =>
    reportOf('llm_connections', env, { diagnostics: { env, ...diagnostics } })

  beforeEach(async () => {
    await installation.sql`delete from llm_connections`
  })

  it('is skipped when there is none', async () => {
    expect(await ask({})).toEqual({ status: 'skipped' })
  })

  it('passes with a key and any response, asks each provider once and sends no key', async () => {
    const seen: unknown[] = []
    const server = await httpServer((request, response) => {
      seen.push(request.headers)
      response.writeHead(401).end('no')
    })
    await connect('openai')
    await connect('openai')
    const result = await ask(
      { OPENAI_API_KEY: 'sk-canary-0123456789' },
      { providerUrls: { openai: server.url } },
    )
    expect(result).toMatchObject({ status: 'ok', details: { connection_count: 2 } })
    expect(seen).toHaveLength(1)
    expect(JSON.stringify(seen)).not.toMatch(/canary|authorization/i)
    await server.stop()
  })

  it.each([403, 500, 302])('counts HTTP %s as reachable', async (status) => {
    await connect('anthropic')
    await during(json(status, {}), async ({ url }) => {
      const result = await ask({ ANTHROPIC_API_KEY: 'x' }, { providerUrls: { anthropic: url } })
      expect(result.status).toBe('ok')
    })
  })

  it.each(FAULTS)('fails for %s', async (_, fault, error) => {
    await connect('groq')
    await during(fault(), async ({ url, limits }) => {
      const result = await ask({ GROQ_API_KEY: 'x' }, { limits, providerUrls: { groq: url } })
      expect(codeOf(result)).toBe('llm_unreachable')
      expect(result.error).toMatch(/^provider\(s\) unreachable: groq/)
      const { unreachable_providers: rows } = result.details as Record<string, { error: string }[]>
      expect(rows?.[0]?.error).toMatch(error)
    })
  })

  it.each([
    ['openai', [['OPENAI_API_KEY']]],
    ['gemini', [['GEMINI_API_KEY'], ['GOOGLE_API_KEY']]],
    [
      'azure',
      [
        ['AZURE_API_KEY', 'AZURE_API_BASE'],
        ['AZURE_FEDERATED_TOKEN_FILE', 'AZURE_ENDPOINT'],
      ],
    ],
    [
      'bedrock',
      [
        ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'],
        ['AWS_BEARER_TOKEN_BEDROCK', 'AWS_DEFAULT_REGION'],
        ['AWS_WEB_IDENTITY_TOKEN_FILE', 'AWS_ROLE_ARN', 'AWS_REGION_NAME'],
      ],
    ],
    ['snowflake', [['SNOWFLAKE_PAT', 'SNOWFLAKE_ACCOUNT']]],
    ['watsonx', [['WATSONX_APIKEY', 'WATSONX_URL', 'WATSONX_PROJECT_ID']]],
    ['acme-llm', [['ACME_LLM_API_KEY']]],
    ['ollama', [['OLLAMA_HOST']]],
  ] as const)('knows what %s needs', async (provider, sufficient) => {
    await connect(provider)
    const server = await json(200, {})
    const urls = { providerUrls: { openai: server.url, gemini: server.url } }
    const nothing = await ask({ OPENAI_API_KEY: '  ' }, urls)
    expect(codeOf(nothing)).toBe('llm_missing_credentials')
    expect(nothing.error).toMatch(/^missing required credentials: [A-Z_, ]+$/)
    for (const names of sufficient) {
      const env = Object.fromEntries(names.map((name) => [name, 'x']))
      expect(await ask(env, urls)).toMatchObject({ status: 'ok' })
    }
    await server.stop()
  })

  it('names the connection, the variables, and those that would do as well', async () => {
    const { id } = await connect('huggingface')
    const server = await json(200, {})
    const result = await ask({}, { providerUrls: { huggingface: server.url } })
    expect(result.details?.['missing_credentials']).toEqual([
      {
        connection_id: id,
        provider: 'huggingface',
        missing: ['HF_TOKEN'],
        any_of: [['HF_TOKEN', 'HUGGINGFACE_API_KEY']],
      },
    ])
    await server.stop()
  })

  it.each([
    ['bedrock', { AWS_BEARER_TOKEN_BEDROCK: 'x', AWS_REGION: 'eu-west-1' }],
    ['vertex_ai', { VERTEXAI_PROJECT: 'x' }],
    ['snowflake', { SNOWFLAKE_PAT: 'x', SNOWFLAKE_ACCOUNT: 'x' }],
    ['acme-llm', { ACME_LLM_API_KEY: 'x' }],
    ['voyage', { VOYAGE_API_KEY: 'x' }],
  ])('warns that no run can use a connection of %s', async (provider, env) => {
    const { id } = await connect(provider)
    await during(json(200, {}), async ({ url }) => {
      const result = await ask(env, { providerUrls: { voyage: url } })
      expect(result.status).toBe('ok')
      expect(warningsOf(result)).toMatchObject([
        {
          code: 'llm_provider_unsupported',
          message:
            `no run can use the connection ${id}: the provider ${provider} has no ` +
            'OpenAI-compatible address',
        },
      ])
    })
    await connect(provider, 'https://gateway.example/v1')
    await installation.sql`delete from llm_connections where id = ${id}`
    expect(warningsOf(await ask({}))).toBeUndefined()
  })

  const OWN = 'https://models.acme.example/v1'

  it.each([
    ['azure', ['AZURE_API_KEY']],
    ['bedrock', ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']],
    ['databricks', ['DATABRICKS_API_KEY']],
    ['snowflake', ['SNOWFLAKE_PAT']],
    ['watsonx', ['WATSONX_APIKEY']],
    ['anthropic', ['ANTHROPIC_API_KEY']],
    ['groq', ['GROQ_API_KEY']],
    ['acme-llm', ['ACME_LLM_API_KEY']],
  ])(
    'asks for the credentials of %s, and nothing else, at an address of its own',
    async (...of) => {
      const [provider, missing] = of
      const connection = await connect(provider, OWN)
      const result = await ask({})
      expect(codeOf(result)).toBe('llm_missing_credentials')
      expect(result.details).toMatchObject({
        probed_providers: [],
        missing_credentials: [{ connection_id: connection.id, provider, missing }],
      })
      const variables = Object.fromEntries(missing.map((name) => [name, 'x']))
      expect(await ask(variables)).toMatchObject({ status: 'ok' })
      const keys = createLlmKeys('secret-key-base-'.repeat(4))
      await setSealedKey(installation.sql, connection, keys.seal('sk-own', connection))
      expect(await ask({})).toMatchObject({ status: 'ok' })
    },
  )

  it.each(['openai', 'openai_compatible', 'ollama', 'vllm', 'hosted_vllm', 'litellm', 'lm_studio'])(
    'asks for no key at an address of its own that speaks as %s',
    async (provider) => {
      await connect(provider, OWN)
      expect(await ask({})).toMatchObject({ status: 'ok', details: { connection_count: 1 } })
    },
  )

  it('asks for the key of OpenAI itself, also where its address was entered', async () => {
    await connect('openai', 'https://api.openai.com/v1')
    expect(codeOf(await ask({}))).toBe('llm_missing_credentials')
  })

  it('asks nothing of an address that only this tenant has', async () => {
    await connect('openai', 'http://127.0.0.1:9/v1')
    await connect('openai_compatible', 'http://127.0.0.1:9/v1')
    expect(await ask({ OPENAI_API_KEY: 'x' })).toMatchObject({
      status: 'ok',
      details: { probed_providers: [] },
    })
    await installation.sql`update llm_connections set base_url = null where provider = 'openai'`
    expect(await ask({ OPENAI_API_KEY: 'x', OPENAI_BASE_URL: 'http://127.0.0.1:9' })).toMatchObject(
      { status: 'ok', details: { probed_providers: [] } },
    )
  })
})
