import * as v from 'valibot'
import { createDocumentReader } from '../../services/shared/documents/read-document.ts'
import { describe, expect, it } from 'vitest'
import { readNewConnection } from '../../services/oauth/routes/settings-request.ts'
import { createProviders } from '../../services/oauth/providers.ts'
import { createVault } from '../../services/oauth/vault.ts'
import { createHttpTool } from '../../services/crew/tools/http.ts'
import { openServer } from '../../services/crew/tools/mcp.ts'
import {
  readAutomationOauth,
  usualAutomationOauth,
} from '../../services/platform/automations/automation-oauth-fields.ts'
import { importCrew } from '../../services/platform/projects/crewai/import-crew.ts'
import { readLlmConnection } from '../../services/platform/connections/llm-connection-fields.ts'
import { createLlmConnection } from '../../services/platform/connections/llm-connections.ts'
import { modelEndpoint } from '../../services/platform/connections/model-endpoint.ts'
import type { ConnectionSettings } from '../../services/platform/connections/oauth-connections.ts'
import { ensureOrganization } from '../../services/platform/people/organizations.ts'
import {
  askPull,
  getRepository,
  saveRepository,
  takeRepository,
} from '../../services/platform/crews/source-repositories.ts'
import { repositoryUrlProblem } from '../../services/platform/crews/source-repository-fields.ts'
import { createRepositorySeals } from '../../services/platform/crews/source-repository-seals.ts'
import { toolDefinitions } from '../../services/platform/tools/tool-definitions.ts'
import { readWebhook } from '../../services/platform/webhooks/webhook-fields.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../services/platform/webhooks/webhook-keys.ts'
import { toError } from '../../services/shared/errors.ts'
import { createLog } from '../../services/shared/log.ts'
import { createOutgoingGuard } from '../../services/shared/outgoing/guard.ts'
import { fetchKeys } from '../../services/web/gate/access-token/fetch-keys.ts'
import { testConnection } from '../../services/web/console/llm-connections/test-connection.ts'
import { baseUrlOf } from '../../services/web/intake/tool-pins/read-openapi.ts'
import { pullRepository } from '../../services/worker/git/pull-repository.ts'
import { resolveModels } from '../../services/worker/run/resolve-models.ts'
import { postMessage } from '../../services/worker/webhooks/post-message.ts'
import { definition } from '../support/crew.ts'
import { HOSTILE_ADDRESSES } from '../support/hostile-addresses.ts'
import { seedOwnAutomation } from '../support/own-crew.ts'
import { useDatabase } from '../support/use-database.ts'

const BASE_URL = 'https://platform.example'
const ID = '00000000-0000-4000-8000-000000000000'
const database = useDatabase()
const seals = createRepositorySeals('k'.repeat(32))
const log = createLog({ name: 'test', level: 'silent' })
let made = 0
const asked: string[] = []
const guard = createOutgoingGuard({
  privateOrigins: [],
  setting: 'A_SETTING',
  async resolveName(name) {
    asked.push(name)
    return []
  },
})
const signal = AbortSignal.timeout(60_000)

const schemaProblem = (schema: v.GenericSchema, given: unknown): string =>
  v.safeParse(schema, given).issues?.[0].message ?? ''

async function failureOf(call: () => unknown): Promise<string> {
  try {
    await call()
    return ''
  } catch (thrown) {
    return toError(thrown).message
  }
}

type Place = readonly [name: string, problemOf: (given: string) => string | Promise<string>]

const oauthField = (field: 'issuer' | 'discoveryUrl' | 'jwksUrl' | 'tokenUrl'): Place => [
  `the ${field} of OAuth for automations`,
  (given) => {
    const usual = { ...usualAutomationOauth(BASE_URL), issuer: 'https://idp.example' }
    return failureOf(() => readAutomationOauth({ ...usual, [field]: given }, []))
  },
]

const CONNECTION = {
  name: 'drive',
  provider: 'drive',
  kind: 'authorization_code',
  authorization_endpoint: 'https://good.example/authorize',
  token_endpoint: 'https://good.example/token',
  client_id: 'crews',
}
const connectionField = (field: string, wrap = (given: string): unknown => given): Place => [
  `the ${field} of a connection`,
  (given) =>
    failureOf(() =>
      readNewConnection({ ...CONNECTION, [field]: wrap(given) }, { providers: [], guard }),
    ),
]

const tool = (name: string, toTool: (given: string) => object): Place => [
  name,
  (given) => schemaProblem(toolDefinitions, { search: toTool(given) }),
]
const http = { type: 'http', openapi: {}, operations: ['find'] }

const filesOf = (url: string) => {
  const agent = {
    researcher: { role: 'r', goal: 'g', backstory: 'b', mcps: [{ url, tool_filter: FILTER }] },
  }
  const task = { find: { description: 'd', expected_output: 'o', agent: 'researcher' } }
  return new Map(
    [
      ['pyproject.toml', '[project]\nname = "x"\n'],
      ['src/x/crew.py', '@CrewBase\nclass X: ...\n'],
      ['src/x/config/agents.yaml', JSON.stringify(agent)],
      ['src/x/config/tasks.yaml', JSON.stringify(task)],
    ].map(([path, text]) => [path ?? '', new TextEncoder().encode(text)] as const),
  )
}
const FILTER = { allowed_tool_names: ['find'] }

const STORED: readonly Place[] = [
  ['the address of a Git repository', (given) => repositoryUrlProblem(given) ?? ''],
  [
    'the base URL of an LLM connection',
    (given) => {
      const connection = { name: 'x', provider: 'openai', model: 'm', api: 'auto' } as const
      const placed = { ...connection, region: null, baseUrl: given }
      return failureOf(() => readLlmConnection(guard, placed))
    },
  ],
  ['the base URL of a model', (given) => schemaProblem(modelEndpoint, { base_url: given })],
  [
    'the address of a webhook',
    (given) =>
      failureOf(() =>
        readWebhook(guard, { url: given, eventTypes: ['run_failed'], format: 'standard' }),
      ),
  ],
  oauthField('issuer'),
  oauthField('discoveryUrl'),
  oauthField('jwksUrl'),
  oauthField('tokenUrl'),
  connectionField('issuer'),
  connectionField('authorization_endpoint'),
  connectionField('token_endpoint'),
  connectionField('revocation_endpoint'),
  connectionField('test_url'),
  connectionField('hosts', (given) => [given]),
  tool('the url of an MCP tool', (url) => ({ type: 'mcp', url, tools: ['find'] })),
  tool('a place of a fetch tool', (given) => ({ type: 'fetch', allow: [given] })),
  tool('the openapi_url of a tool', (openapi_url) => ({
    type: 'http',
    openapi_url,
    operations: ['find'],
  })),
  tool('the base_url of a tool', (base_url) => ({ ...http, base_url })),
  tool('the pinned base_url of a tool', (base_url) => ({
    ...http,
    pinned: { base_url, operations: [] },
  })),
  [
    'the server of an OpenAPI document',
    (url) =>
      failureOf(() => baseUrlOf({ servers: [{ url }] }, { given: undefined, readFrom: undefined })),
  ],
  [
    'the MCP server of an imported project',
    (url) =>
      importCrew(filesOf(url))
        .problems.map(({ message }) => message)
        .join(),
  ],
]

const USED: readonly Place[] = [
  [
    'a webhook',
    async (url) => {
      const keys = createWebhookKeys('k'.repeat(32))
      const webhook = { id: ID, deploymentId: 1 }
      const sealedKey = keys.seal(createWebhookSecret(), webhook)
      const head = {
        id: '1',
        messageId: ID,
        payload: '{}',
        format: 'standard' as const,
        tries: 0,
        url,
        deploymentId: 1,
        organizationId: 1,
        region: null,
        allowedRegions: [],
        sealedKey,
        sealedPreviousKey: null,
        runId: null,
      }
      const line = { webhookId: ID, executionId: ID, leaseId: ID }
      const sent = await postMessage({ guard, keys, timeoutMs: 1000 }, { line, head }, signal)
      return sent.problem ?? ''
    },
  ],
  ...(['discoveryUrl', 'jwksUrl'] as const).map((field): Place => [
    `the ${field} of OAuth for automations`,
    (given) => {
      const usual = { issuer: 'https://idp.example', discoveryUrl: null, jwksUrl: null }
      return failureOf(() => fetchKeys({ ...usual, [field]: given }, { guard, organizationId: 1 }))
    },
  ]),
  ...(['issuer', 'token_endpoint', 'revocation_endpoint'] as const).map((field): Place => [
    `the ${field} of a connection`,
    (given) => failureOf(() => providerOf({ ...ENDPOINTS, [field]: given })),
  ]),
  [
    'an MCP tool',
    (url) =>
      failureOf(() =>
        openServer(
          { guard, connections: {}, readDocument: createDocumentReader() },
          { type: 'mcp', url, tools: ['x'] },
        ),
      ),
  ],
  ['the models of a run', modelsAt],
  ['the pull of a repository', pulledFrom],
  ['an HTTP tool', (base_url) => failureOf(() => callOperation(base_url, '/find'))],
  [
    'the test of an LLM connection',
    async (baseUrl) => {
      const usual = { id: 1, organizationId: 1, name: 'x', provider: 'openai', model: 'm' }
      const rest = { api: 'auto', hasKey: true, region: null, batchTier: null } as const
      const connection = { ...usual, ...rest, baseUrl }
      const surroundings = { env: {}, providerUrls: {}, guard }
      const request = { key: 'secret', isCall: true }
      const { reach } = await testConnection(connection, surroundings, request)
      return reach.kind === 'refused' ? reach.why : ''
    },
  ],
]

const ENDPOINTS: ConnectionSettings = {
  authorization_endpoint: 'https://good.example/authorize',
  token_endpoint: 'https://good.example/token',
  client_id: 'crews',
}

async function providerOf(settings: ConnectionSettings): Promise<string> {
  const providers = createProviders({
    settings: new Map(),
    sql: database.sql,
    guard,
    timeoutMs: 1e3,
    vault: createVault('k'.repeat(43)),
  })
  const own = { kind: 'client_credentials', settings, settingsVersion: 1 } as const
  const connection = { id: ID, organizationId: 1, provider: 'drive', clientSecret: null, ...own }
  return (await (await providers.of(connection)).authenticate()).accessToken
}

/** Calls an operation with one argument, `x`. */
async function callOperation(base_url: string, path: string) {
  const parameters = [{ name: 'x', in: 'path' }] as const
  const operation = { name: 'find', method: 'GET', path, parameters, input_schema: {} } as const
  const called = createHttpTool(
    { guard, connections: {}, readDocument: createDocumentReader() },
    { type: 'http', operations: ['find'], pinned: { base_url, operations: [] } },
    { key: 'api', name: 'find', operation: { ...operation, parameters: [...parameters] } },
  )
  return called.call({ arguments: { x: '1' }, idempotencyKey: 'x', path: [], signal })
}

/** Resolves the models of a run whose connection was saved with this address. */
async function modelsAt(baseUrl: string): Promise<string> {
  const { sql } = database
  const { id: organizationId } = await ensureOrganization(sql, { name: 'Acme' })
  await sql`delete from llm_connections`
  const fields = { organizationId, name: 'x', provider: 'openai', model: 'test-model', baseUrl }
  await createLlmConnection(sql, { ...fields, api: 'auto' })
  const deps = { sql, readVariable: () => undefined, secretKeyBase: 'k'.repeat(32) }
  const resolved = await resolveModels(deps, { organizationId, definition })
  return 'failure' in resolved ? resolved.failure.message : ''
}

/** Pulls a repository that was saved with this address and a token. */
async function pulledFrom(url: string): Promise<string> {
  const { sql } = database
  await sql`delete from source_repositories`
  const { id: deploymentId } = await seedOwnAutomation(sql, `Crew ${(made += 1)}`)
  const sealedToken = seals.seal('a-token', { deploymentId, kind: 'credential' })
  const place = { url, ref: 'main', directory: null }
  await saveRepository(sql, { deploymentId }, { ...place, sealedToken })
  await askPull(sql, { deploymentId }, null)
  const taken = await takeRepository(sql)
  if (!taken) throw new Error('nothing to take')
  const programs = { path: process.env['PATH'] ?? '', extraAuthoritiesPath: undefined }
  await pullRepository({ sql, log, seals, guard, programs, quotaBytes: 2 ** 30 }, taken, signal)
  const { failure } = await getRepository(sql, { deploymentId })
  // A token of an address that may have meant another host is not kept for the plain one.
  const plain = { ...place, url: 'https://good.example/x', sealedToken: undefined }
  await saveRepository(sql, { deploymentId }, plain)
  expect(await getRepository(sql, { deploymentId }), url).toMatchObject({ hasToken: false })
  return failure ?? ''
}

describe('an address that an organization chooses', () => {
  it.each(STORED)('is not saved in another spelling as %s', async (_name, problemOf) => {
    for (const given of HOSTILE_ADDRESSES) {
      expect(await problemOf(given), given).toMatch(/must|SSH|absolute URL|may be a key|platform/)
    }
    expect(asked).toEqual([])
  })

  it.each(USED)('that was saved in another spelling is not used by %s', async (_name, use) => {
    for (const given of HOSTILE_ADDRESSES.filter((each) => isStorable(each))) {
      expect(await use(given), given).toMatch(/ must (be|have) /)
    }
    expect(asked).toEqual([])
  })

  it('is not another one with the path of an operation behind it', async () => {
    for (const path of ['@evil.example/{x}', '.evil.example/{x}', ':8443/{x}', '{x}']) {
      await expect(callOperation('https://good.example', path)).rejects.toThrow('is no path')
    }
    expect(asked).toEqual([])
  })
})

/** PostgreSQL stores no NUL, and most columns take http and https only. */
const isStorable = (address: string): boolean => /^https?:\/\/[^\0]+$/.test(address)
