import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { COMPONENT_NAMES } from '../../../../services/web/diagnostics/checks/list.ts'
import type { ComponentName } from '../../../../services/web/diagnostics/checks/list.ts'
import { codeOf, serveWeb, TOKEN } from './support/web.ts'
import type { Web, WebOptions } from './support/web.ts'
import { closed, httpServer, json, silent } from './support/faults.ts'
import { OAUTH_KEY, startDependencies } from './support/dependencies.ts'
import type { Dependencies } from './support/dependencies.ts'

let dependencies: Dependencies
const open: { close(): Promise<void> }[] = []

beforeAll(async () => {
  dependencies = await startDependencies()
})

afterEach(async () => {
  dependencies.kubernetes.intercept = () => false
  await Promise.all(open.splice(0).map((each) => each.close()))
})

afterAll(() => dependencies.stop())

async function serve(change: Partial<WebOptions> = {}): Promise<Web> {
  const web = await serveWeb(dependencies.options(change))
  open.push(web)
  return web
}

const all = (status: string) =>
  Object.fromEntries(COMPONENT_NAMES.map((name) => [name, { status }]))

describe('GET /health/debug (SPEC 4.1)', () => {
  it('is the report of SPEC 2, with everything well', async () => {
    const { url } = await serve()
    const headers = { 'x-platform-debug-token': TOKEN }
    const response = await fetch(`${url}/health/debug`, { headers })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      vary: 'Cookie, X-Platform-Debug-Token, Sec-Fetch-Site',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    })
    expect(response.headers.has('etag')).toBe(false)
    const latency_ms = expect.any(Number)
    expect(await response.json()).toEqual({
      status: 'ok',
      duration_ms: expect.any(Number),
      environment: { platform: true, auth_provider: 'okta', version: '1.13.0' },
      components: {
        database: {
          status: 'ok',
          latency_ms,
          checks: ['select_1'],
          details: { size_bytes: expect.any(Number) },
        },
        designer: {
          status: 'ok',
          latency_ms,
          checks: [
            'project_table_readable',
            'designer_v2_route_mounted',
            'agent_install_complete',
            'runner_install_complete',
            'crew_pods_ready',
          ],
          details: expect.objectContaining({
            internal_organization: 'Platform',
            crew_pods_status: 'ok',
          }),
        },
        auth: { status: 'ok', latency_ms, provider: 'okta', http_status: 200 },
        tools: {
          status: 'ok',
          latency_ms,
          checks: ['public_repository_provisioned', 'tools_index_route_mounted'],
        },
        collector: { status: 'ok', latency_ms, details: expect.anything() },
        oauth: {
          status: 'ok',
          latency_ms,
          details: {
            host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
            api_key_configured: true,
            api_key_fingerprint: createHash('sha256').update(OAUTH_KEY).digest('hex').slice(0, 12),
            pod: 'web-1',
          },
        },
        llm_connections: {
          status: 'ok',
          latency_ms,
          details: { connection_count: 1, probed_providers: ['openai'] },
        },
        platform_pods: {
          status: 'ok',
          latency_ms,
          details: { namespace: 'install', deployments: expect.any(Array) },
        },
      },
    })
  })

  it('is the same for HEAD, without the body', async () => {
    const { url } = await serve()
    const headers = { 'x-platform-debug-token': TOKEN }
    const response = await fetch(`${url}/health/debug`, { method: 'HEAD', headers })
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
  })

  it('runs once for fifty calls at the same time', async () => {
    let answer: (() => void) | undefined
    const slow = await httpServer((_, response) => {
      answer = () => void response.end('{"status":"ok"}')
    })
    open.push({ close: () => slow.stop() })
    const limits = { abortMs: 20_000, checkMs: 25_000, totalMs: 30_000 }
    const change = { env: { COLLECTOR_URL: slow.url }, diagnostics: { limits } }
    const { app, lines } = await serve(change)
    for (const name of Object.keys(dependencies.hits))
      Object.assign(dependencies.hits, { [name]: 0 })
    const before = dependencies.kubernetes.calls.length
    const headers = { 'x-platform-debug-token': TOKEN }
    let waiting = 0
    const ask = async () => {
      const response = app.request('/health/debug', { headers })
      waiting += 1
      return (await response).json()
    }
    const asking = Promise.all(Array.from({ length: 50 }, ask))
    await expect.poll(() => waiting === 50 && answer !== undefined).toBe(true)
    answer?.()
    const reports = await asking
    for (const report of reports) expect(report).toEqual(reports[0])
    expect(dependencies.hits).toEqual({ auth: 1, collector: 0, oauth: 1, llm_connections: 1 })
    expect(dependencies.kubernetes.calls.length - before).toBe(3)
    expect(lines.filter((line) => line.includes('"diagnosis"'))).toHaveLength(1)
  })
})

/** One thing that is wrong, and what the report says of it (SPEC 7). */
interface Case {
  readonly name: string
  readonly component: ComponentName
  readonly arrange: () => Promise<Partial<WebOptions>> | Partial<WebOptions>
  readonly code: string
  readonly error: RegExp
}

async function at(
  variable: string,
  fault: ReturnType<typeof closed>,
): Promise<Partial<WebOptions>> {
  const server = await fault
  open.push({ close: () => server.stop() })
  return { env: { [variable]: server.url }, diagnostics: { limits: server.limits } }
}

const cluster = (status: number, reason: string) => () => {
  dependencies.kubernetes.intercept = (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ kind: 'Status', reason, message: `${reason} it is` }))
    return true
  }
  return {}
}

const CASES: readonly Case[] = [
  {
    name: 'an identity provider that refuses connections',
    component: 'auth',
    arrange: () => at('OIDC_ISSUER_URL', closed()),
    code: 'idp_unreachable',
    error: /^ConnectionFailed: /,
  },
  {
    name: 'an identity provider that hangs',
    component: 'auth',
    arrange: () => at('OIDC_ISSUER_URL', silent()),
    code: 'idp_unreachable',
    error: /^TimeoutError: /,
  },
  {
    name: 'an identity provider that answers 500',
    component: 'auth',
    arrange: () => at('OIDC_ISSUER_URL', json(500, {})),
    code: 'idp_http_error',
    error: /^HTTP 500 /,
  },
  {
    name: 'an unavailable collector',
    component: 'collector',
    arrange: () => at('COLLECTOR_URL', closed()),
    code: 'collector_unreachable',
    error: /^ConnectionFailed: /,
  },
  {
    name: 'a collector that hangs',
    component: 'collector',
    arrange: () => at('COLLECTOR_URL', silent()),
    code: 'collector_unreachable',
    error: /^TimeoutError: /,
  },
  {
    name: 'an unavailable OAuth service',
    component: 'oauth',
    arrange: () => at('PLATFORM_OAUTH_API_BASE_URL', closed()),
    code: 'oauth_unreachable',
    error: /^ConnectionFailed: /,
  },
  {
    name: 'no key of the OAuth service',
    component: 'oauth',
    arrange: () => ({ env: { PLATFORM_OAUTH_API_KEY: '' } }),
    code: 'oauth_key_missing',
    error: /^API key missing/,
  },
  {
    name: 'no key of an LLM provider',
    component: 'llm_connections',
    arrange: () => ({ env: { OPENAI_API_KEY: ' ' } }),
    code: 'llm_missing_credentials',
    error: /^missing required credentials: OPENAI_API_KEY$/,
  },
  {
    name: 'a Kubernetes API that does not know the service account',
    component: 'platform_pods',
    arrange: cluster(401, 'Unauthorized'),
    code: 'k8s_api_unreachable',
    error: /^HTTP 401 /,
  },
  {
    name: 'a service account without the right',
    component: 'platform_pods',
    arrange: cluster(403, 'Forbidden'),
    code: 'rbac_forbidden',
    error: /cannot list Deployments in the namespace install: Forbidden it is/,
  },
  {
    name: 'a Kubernetes API with too much to do',
    component: 'platform_pods',
    arrange: cluster(429, 'TooManyRequests'),
    code: 'k8s_api_unreachable',
    error: /^HTTP 429 /,
  },
]

describe('one thing that is wrong (SPEC 3, 7)', () => {
  it.each(CASES)('$name', async ({ component, arrange, code, error }) => {
    const critical = component === 'auth'
    const { report } = await serve(await arrange())
    const answer = await report()
    expect(answer.http).toBe(critical ? 503 : 200)
    expect(answer.report.status).toBe(critical ? 'fail' : 'degraded')
    const found = answer.report.components[component]
    expect(found.status).toBe('fail')
    expect(codeOf(found)).toBe(code)
    expect(found.error).toMatch(error)
    expect(found.details).toMatchObject({ remediation: expect.stringMatching(/\.$/) })
  })

  it('names what the others have as they are', async () => {
    const { report } = await serve(await at('COLLECTOR_URL', closed()))
    const answer = await report()
    expect(answer.report.components).toMatchObject({
      ...all('ok'),
      collector: { status: 'fail' },
    })
  })

  it('is ok with nothing configured that need not be', async () => {
    const env = {
      AUTH_PROVIDER: 'local',
      COLLECTOR_URL: '',
      PLATFORM_OAUTH_API_BASE_URL: '',
    }
    const { report, sql } = await serve({ env, diagnostics: { kubernetes: undefined } })
    await sql`delete from llm_connections`
    const answer = await report()
    expect(answer.http).toBe(200)
    expect(answer.report).toMatchObject({
      status: 'ok',
      components: {
        ...all('skipped'),
        database: { status: 'ok' },
        designer: { status: 'ok', details: { crew_pods_status: 'skipped' } },
        tools: { status: 'ok' },
      },
    })
  })
})
