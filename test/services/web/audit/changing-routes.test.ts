import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { grantRole } from '../../../../services/platform/people/users.ts'
import { parkForBudget } from '../../../../services/platform/budgets/budget-stops.ts'
import { reserveCall } from '../../../../services/platform/budgets/budget-ledger.ts'
import { setBudget } from '../../../../services/platform/budgets/budgets.ts'
import { createProject } from '../../../../services/platform/projects/projects.ts'
import { createVersion } from '../../../../services/platform/projects/project-versions.ts'
import { parkRun } from '../../../../services/platform/runs/run-approvals.ts'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import { ensurePublicToolRepository } from '../../../../services/platform/tools/tools.ts'
import { NOUNS, PAGES_BY_HAND } from '../../../../services/web/nouns/list.ts'
import type { Reader } from '../../../../services/web/resources/declaration.ts'
import { API, pathsOf } from '../../../../services/web/resources/rights.ts'
import { definition } from '../../../support/crew.ts'
import { tarGz } from '../../../support/tar.ts'
import { agentJson, crewJson } from '../../platform/projects/crewai/project.ts'
import { BASE_URL, cheapHash } from '../support/platform.ts'
import type { SignedInUser } from '../support/platform.ts'
import { CLIENT_SECRET, openPlatformWithConnections } from '../support/platform-with-connections.ts'
import type { PlatformWithConnections } from '../support/platform-with-connections.ts'
import { recordCall, STEP } from '../support/recorded-call.ts'
import { makeWheel, uploadForm } from '../support/wheels.ts'
import { few } from '../../../support/long.ts'

const PASSWORD = 'a long and good password'
const API_KEY = 'sk-a-key-of-a-model-provider'

const PROJECT = tarGz([{ path: 'requirements.txt' }, { path: 'crew.jsonc', content: '{}' }])

let platform: PlatformWithConnections
let ada: SignedInUser
let token: string
let platformToken: string
let projectId: string

interface Send {
  (path: string): Promise<Response>
  /** Sends the same with another text in each of its fields, one after the other. */
  readonly withTexts?: (text: string) => readonly [field: string, send: Send][]
}

/** A call whose fields may be other ones. */
const withFields = <Fields extends object>(
  fields: Fields,
  send: (fields: Fields, path: string) => Promise<Response>,
): Send =>
  Object.assign((path: string) => send(fields, path), {
    withTexts: (text: string) =>
      Object.entries(fields)
        .filter(([, value]) => typeof value === 'string')
        .map(([field]): [string, Send] => [
          field,
          (path) => send({ ...fields, [field]: text }, path),
        ]),
  })

const form = (fields: Record<string, string> = {}): Send =>
  withFields(fields, async (given, path) => platform.post(path, ada, given))

const call = (method: string, body: object, headersOf: () => Record<string, string>): Send =>
  withFields(body, async (given, path) =>
    platform.app.request(BASE_URL + path, {
      method,
      headers: { ...headersOf(), 'content-type': 'application/json' },
      body: JSON.stringify(given),
    }),
  )

const json = (method: string, body: object = {}): Send =>
  call(method, body, () => ({ authorization: `Bearer ${token}` }))

const upload =
  (name: string, which: () => string): Send =>
  async (path) =>
    platform.app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${which()}` },
      body: uploadForm(makeWheel(name, '1.0')),
    })

/** The archive of a project, by a page or with a token. */
const source =
  (by: 'page' | 'token', fields: Record<string, string> = {}): Send =>
  async (path) => {
    const body = new FormData()
    if (by === 'page') body.append('csrf_token', ada.csrfToken)
    for (const [name, value] of Object.entries(fields)) body.append(name, value)
    body.append('source', new Blob([PROJECT]), 'crew.tar.gz')
    const headers = new Headers(
      by === 'page' ? [['cookie', ada.cookie]] : [['authorization', `Bearer ${token}`]],
    )
    return platform.app.request(BASE_URL + path, { method: 'POST', headers, body })
  }

/** The rows of a batch, by a page or with a token. */
const rows =
  (by: 'page' | 'token'): Send =>
  async (path) => {
    if (by === 'token') {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' }
      return platform.app.request(BASE_URL + path, { method: 'POST', headers, body: 'topic\na\n' })
    }
    const body = new FormData()
    body.append('csrf_token', ada.csrfToken)
    body.append('text', 'topic\na\n')
    const headers = { cookie: ada.cookie }
    return platform.app.request(BASE_URL + path, { method: 'POST', headers, body })
  }

const yank =
  (method: string, which: () => string): Send =>
  async (path) =>
    platform.app.request(path, {
      method,
      headers: { authorization: `Bearer ${which()}`, 'content-type': 'application/json' },
      body: method === 'PUT' ? '{"reason": "broken"}' : null,
    })

/** What a route does that is no change of what the audit is about. */
type Why = string

const RUN: Why = 'starts a run, which is its own record'
const OF_TASK: Why = 'is of one run, whose caller asks to be told of it'
const FILE: Why = 'stores a file that runs are given'
const CALL: Why = 'calls a model, and is tried with one elsewhere'
const LOOK: Why = 'looks at something, and changes nothing'
const MINE: Why = 'is about the view of one person'
const NOTE: Why = 'is a note, which says who wrote it, and which only its author deletes'
const SESSION: Why = 'begins or ends a session'
const PUSH: Why = 'has a worker pull, which records what it deploys'
const EXCHANGE: Why =
  'issues a token to who is no caller yet, and is tried with good tokens elsewhere'
const own = () => token
const internal = () => platformToken

const ORGANIZATION_OAUTH = {
  enabled: 'on',
  issuer: 'https://idp.example.com',
  audiences: BASE_URL,
  scope: 'automations',
  scope_claim: 'scope',
  algorithms: 'RS256',
  skew_seconds: '10',
  lifetime_seconds_max: '3600',
  static_tokens_allowed: 'on',
}
const KEYED = { name: 'keyed', provider: 'token', kind: 'static_token', token: API_KEY }
const LLM = { name: 'Main', provider: 'openai', model: 'm', base_url: '', api_key: API_KEY }
const HOOK = { url: 'https://hooks.example.com/secret-path', event: 'run_completed' }
const HOOK_BY_API = { url: HOOK.url, event_types: ['run_completed'] }
const TRIGGER = {
  name: 'invoices',
  scheme: 'stripe',
  secret: API_KEY,
  filter: '@.body.paid',
  inputs: '{"topic": "{{ $.body.topic }}"}',
}
const TRIGGER_BY_API = { ...TRIGGER, inputs: { topic: '{{ $.body.topic }}' } }
const VARIABLE = { name: 'KEY', secret_value: PASSWORD }
const GIT = { url: 'https://git.test/acme/crew.git', ref: 'main', token: API_KEY }
const FORWARD = {
  name: 'Langfuse',
  endpoint: 'https://otlp.example.com',
  headers: 'authorization=Bearer%20hidden-header',
  share: '100',
}
const limits = { tokens_max: '1000', usd_max: '', unpriced: 'refuse' }

/** Fields in which any other text is a known one: boxes, choices, and the address of a list. */
const CHOICES = new Set(['enabled', 'static_tokens_allowed', 'scope_claim', 'query'])

/**
 * Each changing route, in this order: a call that succeeds, or why it leaves no entry. Those of a
 * resource are tried by resources/readings.test.ts: it has a line here only for what its examples
 * lack, such as a secret that the audit must not have.
 */
const ROUTES: Readonly<Record<string, Send | Why>> = {
  'POST /account/sessions/:sessionId/end': form(),
  'POST /automations/:automationId/concurrency': form({ concurrency_max: '3' }),
  'POST /automations/:automationId/static-tokens': form({ name: 'CI', scopes: 'read' }),
  'POST /automations/:automationId/static-tokens/:staticTokenId/delete': form(),
  'POST /static-tokens': form({ name: 'CI', scopes: 'upload' }),
  'POST /static-tokens/:staticTokenId/delete': form(),
  'POST /designer/v2/static-tokens': json('POST', { name: 'CI', scopes: ['read'] }),
  'DELETE /designer/v2/static-tokens/:staticTokenId': json('DELETE'),
  'POST /automations/:automationId/webhooks': form(HOOK),
  'POST /automations/:automationId/webhooks/:webhookId': form({ ...HOOK, url: 'https://b.test/x' }),
  'POST /automations/:automationId/webhooks/:webhookId/test': form(),
  'POST /automations/:automationId/webhooks/:webhookId/deliveries/:deliveryId': form(),
  'POST /automations/:automationId/webhooks/:webhookId/key': form(),
  'POST /automations/:automationId/webhooks/:webhookId/pause': form(),
  'POST /automations/:automationId/webhooks/:webhookId/resume': form(),
  'POST /automations/:automationId/webhooks/:webhookId/redeliver': form(),
  'POST /automations/:automationId/webhooks/:webhookId/delete': form(),
  'POST /designer/v2/automations/:automationId/webhooks': json('POST', HOOK_BY_API),
  'PUT /designer/v2/automations/:automationId/webhooks/:webhookId': json('PUT', HOOK_BY_API),
  'POST /designer/v2/automations/:automationId/webhooks/:webhookId/test': json('POST'),
  'POST /designer/v2/automations/:automationId/webhooks/:webhookId/key': json('POST'),
  'POST /designer/v2/automations/:automationId/webhooks/:webhookId/pause': json('POST'),
  'POST /designer/v2/automations/:automationId/webhooks/:webhookId/resume': json('POST'),
  'DELETE /designer/v2/automations/:automationId/webhooks/:webhookId': json('DELETE'),
  'POST /automations/:automationId/triggers': form(TRIGGER),
  'POST /automations/:automationId/triggers/:triggerId': form({ ...TRIGGER, name: 'paid' }),
  'POST /automations/:automationId/triggers/:triggerId/pause': form(),
  'POST /automations/:automationId/triggers/:triggerId/resume': form(),
  'POST /automations/:automationId/triggers/:triggerId/secret': form(),
  'POST /automations/:automationId/triggers/:triggerId/end-former': form(),
  'POST /automations/:automationId/triggers/:triggerId/test': LOOK,
  'POST /automations/:automationId/triggers/:triggerId/deliveries/:eventId': RUN,
  'POST /automations/:automationId/triggers/:triggerId/delete': form(),
  'POST /designer/v2/automations/:automationId/triggers': json('POST', TRIGGER_BY_API),
  'PUT /designer/v2/automations/:automationId/triggers/:triggerId': json('PUT', TRIGGER_BY_API),
  'POST /designer/v2/automations/:automationId/triggers/:triggerId/pause': json('POST'),
  'POST /designer/v2/automations/:automationId/triggers/:triggerId/resume': json('POST'),
  'POST /designer/v2/automations/:automationId/triggers/:triggerId/secret': json('POST'),
  'POST /designer/v2/automations/:automationId/triggers/:triggerId/end-former': json('POST'),
  'DELETE /designer/v2/automations/:automationId/triggers/:triggerId': json('DELETE'),
  'POST /hooks/:triggerId': RUN,
  'POST /automations/:automationId/workload-rules/:workloadRuleId/explain': LOOK,
  'POST /oauth/token': EXCHANGE,
  'POST /trace-forwards': form(FORWARD),
  'POST /trace-forwards/:traceForwardId': form({ ...FORWARD, share: '50' }),
  'POST /trace-forwards/:traceForwardId/pause': form(),
  'POST /trace-forwards/:traceForwardId/resume': form(),
  'POST /trace-forwards/:traceForwardId/delete': form(),
  'POST /designer/v2/trace-forwards': json('POST', { ...FORWARD, share: 20 }),
  'PUT /designer/v2/trace-forwards/:traceForwardId': json('PUT', { ...FORWARD, share: 30 }),
  'POST /designer/v2/trace-forwards/:traceForwardId/pause': json('POST'),
  'POST /designer/v2/trace-forwards/:traceForwardId/resume': json('POST'),
  'DELETE /designer/v2/trace-forwards/:traceForwardId': json('DELETE'),
  'POST /automations/:automationId/case-sets': form({ name: 'Support', checks: '[]' }),
  'POST /automations/:automationId/case-sets/:caseSetId': form({ name: 'Billing', checks: '[]' }),
  'POST /automations/:automationId/case-sets/:caseSetId/import': form({
    format: 'jsonl',
    cases: '{"inputs":{"topic":"tides"}}',
  }),
  'POST /automations/:automationId/case-sets/:caseSetId/from-runs': async (path) => {
    await insertRun()
    return form({ last: '1', which: 'any' })(path)
  },
  'POST /automations/:automationId/case-sets/:caseSetId/cases/:caseId/delete': form(),
  'POST /automations/:automationId/executions/:kickoffId/case': async (path) =>
    platform.post(path.replace(/[^/]+\/case$/, `${await insertRun()}/case`), ada, {
      set: await firstOf(platform.sql`select id from case_sets`),
    }),
  'POST /automations/:automationId/executions/:kickoffId/calls/:stepKey': async (path) =>
    form({ do: 'parameters', temperature: '1' })(await ofRecordedCall(path)),
  'POST /traces/:traceId/spans/:spanId/try': CALL,
  'POST /designer/v2/executions/:kickoffId/model-calls/:stepKey/try': CALL,
  'POST /designer/v2/executions/:kickoffId/model-calls/:stepKey/version': async (path) =>
    json('POST', { temperature: 1 })(await ofRecordedCall(path)),
  'POST /designer/v2/automations/:automationId/case-sets': json('POST', { name: 'By API' }),
  'PUT /designer/v2/automations/:automationId/case-sets/:caseSetId': json('PUT', {
    name: 'Invoices',
  }),
  'POST /designer/v2/case-sets/:caseSetId/cases': json('POST', { inputs: { topic: 'tides' } }),
  'POST /designer/v2/case-sets/:caseSetId/import': async (path) =>
    platform.app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/jsonl' },
      body: '{"inputs":{}}',
    }),
  'POST /designer/v2/case-sets/:caseSetId/from-runs': async (path) => {
    await insertRun()
    return json('POST', { last: 1 })(path)
  },
  'POST /automations/:automationId/reviews': async (path) =>
    form({ kind: 'run', id: await insertRun(), rating: 'good' })(path),
  'POST /designer/v2/automations/:automationId/reviews': async (path) =>
    json('POST', { kind: 'run', id: await insertRun(), rating: 'bad' })(path),
  'DELETE /designer/v2/case-sets/:caseSetId/cases/:caseId': json('DELETE'),
  'POST /automations/:automationId/case-sets/:caseSetId/delete': form(),
  'DELETE /designer/v2/automations/:automationId/case-sets/:caseSetId': json('DELETE'),
  'POST /automations/:automationId/batches': rows('page'),
  'POST /designer/v2/automations/:automationId/batches': rows('token'),
  'POST /designer/v2/projects': json('POST', { name: 'By API' }),
  'POST /designer/v2/projects/:projectId/versions': json('POST', { definition }),
  'PUT /designer/v2/projects/:projectId/versions/:number': json('PUT', { definition }),
  'POST /designer/v2/projects/:projectId/versions/:number/knowledge': async (path) =>
    platform.app.request(`${path}?name=a.txt`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: 'A text.',
    }),
  'POST /designer/v2/projects/:projectId/imports': json('POST', {
    files: { 'crew.jsonc': crewJson(), 'agents/writer.jsonc': agentJson() },
  }),
  'POST /designer/v2/projects/:projectId/versions/:number/publish': json('POST'),
  'POST /designer/v2/projects/:projectId/versions/:number/publish/override': async (path) =>
    platform.app.request(await withDraft(path), {
      method: 'POST',
      headers: {
        cookie: ada.cookie,
        'x-csrf-token': ada.csrfToken,
        'content-type': 'application/json',
      },
      body: '{"reason":"It is urgent."}',
    }),
  'POST /projects/:projectId/versions/:number/publish/override': async (path) =>
    form({ reason: 'It is urgent.' })(await withDraft(path)),
  'PUT /designer/v2/projects/:projectId/release': json('PUT', { version: 1 }),
  'DELETE /designer/v2/projects/:projectId/release': async (path) => {
    await platform.sql`
      insert into releases (project_id, organization_id, version_id, share)
      select project_id, organization_id, id, 10 from project_versions
      where project_id = ${projectId} and number = 1`
    return json('DELETE')(path)
  },
  'PUT /designer/v2/organizations/:organizationId/limits': async (path) =>
    platform.app.request(path, {
      method: 'PUT',
      headers: { authorization: `Bearer ${platformToken}`, 'content-type': 'application/json' },
      body: '{"queued_runs": 100}',
    }),
  'PUT /designer/v2/managed/:manager': json('PUT', { resources: [{ kind: 'webhook', id: '1' }] }),
  'PUT /designer/v2/budgets/:period': json('PUT', { tokens_max: 1000 }),
  'DELETE /designer/v2/budgets/:period': json('DELETE'),
  'PUT /designer/v2/automations/:automationId/budgets/:period': json('PUT', { tokens_max: 1000 }),
  'DELETE /designer/v2/automations/:automationId/budgets/:period': json('DELETE'),
  'POST /git-webhooks/:automationId': PUSH,
  'POST /designer/v2/automations': json('POST', { name: 'Crew by API' }),
  'PATCH /designer/v2/automations/:automationId/settings': json('PATCH', { replicas: 2 }),
  'PUT /designer/v2/automations/:automationId/variables/:name': json('PUT', {
    value: PASSWORD,
    secret: true,
  }),
  'DELETE /designer/v2/automations/:automationId/variables/:name': json('DELETE'),
  'PUT /designer/v2/own-crews/:ownCrewId': json('PUT', { replicas: 3 }),
  'POST /designer/v2/automations/:automationId/environment-variables': json('POST', VARIABLE),
  'PUT /designer/v2/automations/:automationId/environment-variables/:environmentVariableId': json(
    'PUT',
    VARIABLE,
  ),
  'DELETE /designer/v2/automations/:automationId/environment-variables/:environmentVariableId':
    json('DELETE'),
  'POST /designer/v2/automations/:automationId/git-sources': json('POST', GIT),
  'PUT /designer/v2/automations/:automationId/git-sources/:gitSourceId': json('PUT', GIT),
  'DELETE /designer/v2/automations/:automationId/git-sources/:gitSourceId': json('DELETE'),
  'PUT /designer/v2/automations/:automationId/repository': json('PUT', {
    url: 'https://git.test/acme/crew.git',
    ref: 'main',
    token: API_KEY,
  }),
  'POST /designer/v2/automations/:automationId/repository/pull': json('POST'),
  'POST /designer/v2/automations/:automationId/repository/webhook': json('POST'),
  'DELETE /designer/v2/automations/:automationId/repository/webhook': json('DELETE'),
  'DELETE /designer/v2/automations/:automationId/repository': json('DELETE'),
  'POST /designer/v2/automations/:automationId/deployments': source('token'),
  'POST /designer/v2/automations/:automationId/stop': json('POST'),
  'POST /designer/v2/automations/:automationId/start': json('POST'),
  'POST /designer/v2/automations/:automationId/restart': json('POST'),
  'DELETE /designer/v2/automations/:automationId': json('DELETE'),
  'POST /new-automation': source('page', { name: 'Crew by page' }),
  'POST /new-automation/empty': form({ name: 'Empty crew' }),
  'POST /automations/:automationId/deployments': source('page'),
  'POST /automations/:automationId/deployments/:number/roll-back': form(),
  'POST /automations/:automationId/crew/deploy-again': form(),
  'POST /automations/:automationId/crew/stop': form(),
  'POST /automations/:automationId/crew/start': form(),
  'POST /automations/:automationId/crew/restart': form(),
  'POST /automations/:automationId/crew-settings': form({ replicas: '2' }),
  'POST /automations/:automationId/crew-repository': form({
    url: 'https://git.test/acme/crew.git',
    ref: 'main',
    directory: '',
    token: API_KEY,
  }),
  'POST /automations/:automationId/crew-repository/pull': form(),
  'POST /automations/:automationId/crew-repository/webhook': form(),
  'POST /automations/:automationId/crew-repository/webhook/delete': form(),
  'POST /automations/:automationId/crew-repository/delete': form(),
  'POST /automations/:automationId/environment': form({
    name: 'A',
    value: PASSWORD,
    secret: 'yes',
  }),
  'POST /automations/:automationId/environment/many': form({ lines: `B=${PASSWORD}` }),
  'POST /automations/:automationId/environment/delete': form({ name: 'A' }),
  'POST /automations/:automationId/delete': form(),
  'POST /budgets/:period': form(limits),
  'POST /budgets/:period/resume': form(),
  'POST /automations/:automationId/budgets/:period': form(limits),
  'POST /automations/:automationId/budgets/:period/resume': form(),
  'POST /projects': form({ name: 'By page' }),
  'POST /projects/:projectId/versions': form({ definition: JSON.stringify(definition) }),
  'POST /projects/:projectId/versions/:number': form({ definition: JSON.stringify(definition) }),
  'POST /projects/:projectId/versions/:number/knowledge': async (path) => {
    const body = new FormData()
    body.append('csrf_token', ada.csrfToken)
    body.append('file', new Blob(['A text.']), 'b.txt')
    const headers = { cookie: ada.cookie, origin: BASE_URL }
    return platform.app.request(BASE_URL + path, { method: 'POST', headers, body })
  },
  'POST /projects/:projectId/versions/:number/knowledge/remove': form({ name: 'b' }),
  'POST /projects/:projectId/versions/:number/successor': form(),
  'POST /projects/:projectId/versions/:number/publish': form(),
  'POST /projects/:projectId/versions/:number/release': form(),
  'POST /projects/:projectId/release/end': form(),
  'POST /projects/:projectId/editor': LOOK,
  'POST /projects/:projectId/rename': form({ name: 'Renamed' }),
  'POST /projects/:projectId/duplicate': form({ name: 'Copy' }),
  'POST /projects/:projectId/archive': form(),
  'POST /projects/:projectId/unarchive': form(),
  'POST /projects/:projectId/versions/:number/delete': async (path) => {
    const key = { organizationId: platform.acme.organizationId, projectId: Number(projectId) }
    const { number } = await createVersion(platform.sql, key, definition)
    return platform.post(path.replace(/[^/]+\/delete$/, `${number}/delete`), ada)
  },
  'POST /projects/:projectId/delete': async () => {
    const { organizationId } = platform.acme
    const { id } = await createProject(platform.sql, { organizationId, name: 'Short-lived' })
    return platform.post(`/projects/${id}/delete`, ada)
  },
  'POST /shared-run-filters': form({ name: 'Failed', query: 'status=error' }),
  'POST /shared-run-filters/:filterId/delete': form(),
  'POST /run-filters': MINE,
  'POST /run-filters/:filterId/delete': MINE,
  'POST /import-project/drafts': form({
    definition: JSON.stringify(definition),
    project: 'Imported',
  }),
  'POST /llm-connections': form(LLM),
  'POST /llm-connections/:llmConnectionId': form({ ...LLM, model: 'n' }),
  'POST /llm-connections/:llmConnectionId/forget': form(),
  'POST /llm-connections/:llmConnectionId/delete': form(),
  'POST /designer/v2/llm-connections': json('POST', LLM),
  'PUT /designer/v2/llm-connections/:llmConnectionId': json('PUT', { ...LLM, model: 'n' }),
  'POST /designer/v2/llm-connections/:llmConnectionId/forget': json('POST'),
  'DELETE /designer/v2/llm-connections/:llmConnectionId': json('DELETE'),
  'POST /connections': async (path) => platform.post(path, ada, platform.oidc({ name: 'new' })),
  'POST /connections/:id': async (path) => platform.post(path, ada, platform.oidc()),
  'POST /connections/:id/revoke': form(),
  'POST /connections/:id/delete': form(),
  'POST /designer/v2/connections': json('POST', KEYED),
  'PUT /designer/v2/connections/:connectionId': json('PUT', { ...KEYED, token: 'another-token' }),
  'POST /designer/v2/connections/:connectionId/revoke': json('POST'),
  'DELETE /designer/v2/connections/:connectionId': json('DELETE'),
  'POST /oauth-settings/:oauthSettingId': form(ORGANIZATION_OAUTH),
  'PUT /designer/v2/oauth-settings/:oauthSettingId': json('PUT', {
    enabled: true,
    issuer: 'https://idp.example.com',
    token_url: 'https://idp.example.com/token',
    audiences: [BASE_URL],
  }),
  'POST /tools/public/': upload('one', internal),
  'POST /tools/public': upload('two', internal),
  'PUT /tools/public/files/:filename/yanked': yank('PUT', internal),
  'DELETE /tools/public/files/:filename/yanked': yank('DELETE', internal),
  'POST /tools/organization/': upload('one', own),
  'POST /tools/organization': upload('two', own),
  'PUT /tools/organization/files/:filename/yanked': yank('PUT', own),
  'DELETE /tools/organization/files/:filename/yanked': yank('DELETE', own),
  'POST /tools-packages/files/:fileId/yank': form({ reason: 'broken' }),
  'POST /tools-packages/files/:fileId/unyank': form(),
  'POST /automations/:automationId/executions/:kickoffId/approval': form({
    task: 'research',
    decision: 'approve',
  }),
  'POST /automations/:automationId/executions/:kickoffId/resume': form(),
  'POST /automations/:automationId/executions/:kickoffId/stop': form(),
  'POST /platform/api/v1/crew/:automationId/resume/:kickoffId': json('POST', {
    task: 'research',
    decision: 'reject',
  }),
  'POST /platform/api/v1/crew/:automationId/stop/:kickoffId': json('POST'),
  'POST /account/password': form({
    current: PASSWORD,
    next: 'another good one',
    again: 'another good one',
  }),

  'POST /platform/api/v1/crew/:automationId/kickoff': RUN,
  'POST /platform/api/v1/crew/:automationId/mcp': RUN,
  'POST /mcp': RUN,
  'POST /platform/api/v1/crew/:automationId/a2a': RUN,
  'POST /platform/api/v1/crew/:automationId/a2a/message:verb': RUN,
  'POST /platform/api/v1/crew/:automationId/a2a/tasks/:taskId':
    'stops a run, which the tests of A2A look for in the audit',
  'POST /platform/api/v1/crew/:automationId/a2a/tasks/:taskId/pushNotificationConfigs': OF_TASK,
  'DELETE /platform/api/v1/crew/:automationId/a2a/tasks/:taskId/pushNotificationConfigs/:configId':
    OF_TASK,
  'POST /platform/api/v1/crew/:automationId/runs/:kickoffId/retry': RUN,
  'POST /platform/api/v1/crew/:automationId/runs/:kickoffId/fork': RUN,
  'POST /platform/api/v1/crew/:automationId/runs/:kickoffId/rerun': RUN,
  'POST /designer/v2/projects/:projectId/executions': RUN,
  'POST /automations/:automationId/executions': RUN,
  'POST /automations/:automationId/executions/:kickoffId/again': RUN,
  'POST /automations/:automationId/executions/:kickoffId/continue': RUN,
  'POST /projects/:projectId/proposals': RUN,
  'POST /projects/:projectId/versions/:number/tests': RUN,
  'POST /platform/api/v1/crew/:automationId/files': FILE,
  'POST /import-project': LOOK,
  'POST /llm-connections/:llmConnectionId/test': LOOK,
  'POST /connections/:id/test': LOOK,
  'POST /designer/v2/connections/:connectionId/test': LOOK,
  'POST /designer/v2/connections/:connectionId/connect': 'see resources/connections.test.ts',
  'POST /oauth-settings/:oauthSettingId/test': LOOK,
  'POST /oauth-settings/:oauthSettingId/explain': LOOK,
  'POST /trace-filters': MINE,
  'POST /trace-filters/:filterId/delete': MINE,
  'POST /traces/:traceId/notes': NOTE,
  'POST /traces/:traceId/notes/:noteId/delete': NOTE,
  'POST /account/display': MINE,
  'POST /account/organization': MINE,
  'POST /sign-in': SESSION,
  'POST /sign-in/link/:token': SESSION,
  'POST /account/sign-out-everywhere': SESSION,
  'POST /account/organizations/:organizationId/leave': 'see console/people.test.ts',
  'POST /reset-password/:token': 'see console/people.test.ts',
  'POST /invitations/:token': 'see sign-in/invitations.test.ts',
  'POST /invitations/:token/account': 'see sign-in/invitations.test.ts',
  'POST /sign-out': SESSION,
  'POST /connections/:id/connect': 'leads to the provider; what comes back is recorded',
  'POST /projects/:projectId/proposals/:proposalId/accept': 'see projects/proposals.test.ts',
  'POST /projects/:projectId/proposals/:proposalId/discard': 'see projects/proposals.test.ts',
}

beforeAll(async () => {
  platform = await openPlatformWithConnections()
  const { sql, acme } = platform
  await grantRole(sql, acme.userId, 'platform-admin')
  await sql`update users set password_hash = ${cheapHash(PASSWORD)} where id = ${acme.userId}`
  ada = await platform.signIn(acme)
  token = await platform.issueToken(acme)
  const { id } = await ensureOrganization(sql, { name: 'Platform', internal: true })
  platformToken = await issueStaticToken(sql, {
    organizationId: id,
    deploymentId: null,
    name: 'uploads',
    createdBy: null,
  })
  await ensurePublicToolRepository(sql, 'public')
  await platform.connect(ada)
  projectId = await firstOf(sql`
    select project_id from project_versions where id = ${acme.research.projectVersionId}`)
  for (let drafts = 0; drafts < 2; drafts += 1) {
    const { organizationId } = acme
    await createVersion(sql, { organizationId, projectId: Number(projectId) }, definition)
  }
})

afterAll(() => platform.close())

async function takenRun() {
  const { sql, acme } = platform
  await kickoff(sql, { deploymentId: acme.research.id, inputs: { topic: 'x' } })
  const [run] = await takeRuns(sql, 1)
  if (!run) throw new Error('nothing to take')
  return run
}

/** A run that has ended. */
const insertRun = (): Promise<string> =>
  firstOf(platform.sql`
    insert into executions (deployment_id, inputs, status, output, finished_at)
    values (${platform.acme.research.id}, '{}', 'completed', '', now()) returning id`)

/** The path with a run that called a model. */
async function ofRecordedCall(path: string): Promise<string> {
  const runId = await insertRun()
  await recordCall(platform.sql, { runId, request: { model: 'test-model', messages: [] } })
  return path.replace(/(executions\/)[^/]+/, `$1${runId}`)
}

/** The path with the number of a draft that is made for it. */
async function withDraft(path: string): Promise<string> {
  const key = { organizationId: platform.acme.organizationId, projectId: Number(projectId) }
  const { number } = await createVersion(platform.sql, key, definition)
  return path.replace(/\d+\/publish/, `${number}/publish`)
}

async function waitingRun(route: string): Promise<string> {
  const run = await takenRun()
  const { sql, acme } = platform
  if (/approval|resume\/:kickoffId/.test(route)) {
    await parkRun(sql, run, { step: 's'.repeat(32), task: 'research', output: 'x' })
  } else if (route.endsWith('/resume')) {
    const key = { organizationId: acme.organizationId, deploymentId: acme.research.id }
    const low = { tokensMax: 1, usdMax: null, unpriced: 'refuse' } as const
    await setBudget(sql, { ...key, period: 'run' }, low)
    const plan = { step: 'a', inputTokens: 40, outputTokens: 10, price: undefined }
    const refusal = await reserveCall(sql, run, plan)
    if (typeof refusal === 'boolean') throw new Error('there was room')
    await parkForBudget(sql, run, { ...refusal, model: 'm' })
    await setBudget(sql, { ...key, period: 'run' }, { ...low, tokensMax: 10_000 })
  }
  return run.id
}

const firstOf = async (rows: Promise<readonly Record<string, unknown>[]>): Promise<string> =>
  String(Object.values((await rows)[0] ?? {})[0])

/** What is there of automations that are made from sources only. */
const CREWS =
  /automations\/:automationId(\/(settings|variables|depl|sto|star|re(?!pl|v)|crew|env|git|del)|$)/

const ownCrew = (name: string): Promise<string> =>
  firstOf(platform.sql`select automation_id from deployments where name = ${name}`)

/** What a parameter of a route is filled with. */
const VALUES: Readonly<Record<string, (route: string) => Promise<string>>> = {
  name: async () => 'A',
  manager: async () => 'ci',
  organizationId: async () => String(platform.acme.organizationId),
  sessionId: async () => {
    const { sql, acme, signIn } = platform
    await signIn(acme)
    return firstOf(sql`select id from sessions order by created_at desc limit 1`)
  },
  filterId: () => firstOf(platform.sql`select id from run_filters where is_shared`),
  period: async () => 'day',
  filename: async () => 'two-1.0-py3-none-any.whl',
  fileId: () =>
    firstOf(platform.sql`
      select t.id from tools t join tool_repositories r on r.id = t.repository_id
      where r.organization_id = ${platform.acme.organizationId} and t.name = 'two'`),
  projectId: async () => projectId,
  automationId: async (route) => {
    if (!CREWS.test(route)) return platform.acme.research.automationId
    return ownCrew(route.includes('designer') ? 'Crew by API' : 'Crew by page')
  },
  staticTokenId: () =>
    firstOf(platform.sql`
      select id from static_tokens where name = 'CI' and revoked_at is null order by id`),
  ownCrewId: () => ownCrew('Crew by API'),
  gitSourceId: () => ownCrew('Crew by API'),
  environmentVariableId: () => firstOf(platform.sql`select id from crew_variables`),
  oauthSettingId: async () => String(platform.acme.organizationId),
  webhookId: () => firstOf(platform.sql`select id from webhooks`),
  triggerId: () => firstOf(platform.sql`select id from triggers`),
  traceForwardId: () => firstOf(platform.sql`select id from trace_forwards`),
  caseSetId: () => firstOf(platform.sql`select id from case_sets order by size desc`),
  caseId: () => firstOf(platform.sql`select id from cases`),
  deliveryId: () => firstOf(platform.sql`select id::text from webhook_messages`),
  number: async (route) =>
    CREWS.test(route) || route.endsWith('/release')
      ? '1'
      : firstOf(platform.sql`
      select number from project_versions
      where project_id = ${projectId} and published_at is null order by number`),
  id: () => firstOf(platform.sql`select id from oauth_connections where name = 'files'`),
  connectionId: () => firstOf(platform.sql`select id from oauth_connections where name = 'keyed'`),
  llmConnectionId: () => firstOf(platform.sql`select id from llm_connections`),
  kickoffId: (route) => (route.includes('calls/') ? insertRun() : waitingRun(route)),
  stepKey: async () => STEP,
}

async function pathOf(route: string): Promise<string> {
  let path = route.slice(route.indexOf(' ') + 1)
  for (const [parameter = '', name = ''] of path.matchAll(/:(\w+)/g)) {
    const value = await VALUES[name]?.(route)
    if (value === undefined) throw new Error(`Say in VALUES what ${parameter} of ${route} is.`)
    path = path.replace(parameter, value)
  }
  return path
}

/** What is mounted for a resource with pages, and tried with its examples. */
const changingRoutesOf: Reader<readonly string[]> = (declaration) => {
  const { verbs, actions } = declaration
  const [pages, api] = [pathsOf(declaration, 'pages'), pathsOf(declaration)]
  return [
    ...(verbs.create ? [`POST ${pages.list}`, `POST ${API}${api.list}`] : []),
    ...(verbs.change ? [`POST ${pages.one}`, `PUT ${API}${api.one}`] : []),
    ...(verbs.remove ? [`POST ${pages.one}/delete`, `DELETE ${API}${api.one}`] : []),
    ...Object.keys(actions).flatMap((name) => [
      `POST ${pages.one}/${name}`,
      `POST ${API}${api.one}/${name}`,
    ]),
  ]
}

const mounted = (): string[] => [
  ...new Set(
    platform.app.routes
      .filter(({ method }) => method !== 'GET' && method !== 'ALL')
      .map(({ method, path }) => `${method} ${path}`),
  ),
]

/** Returns false where a form leads to a page with a notice that the page does not have. */
async function tellsWhatWasDone({ headers }: Response): Promise<boolean> {
  const to = headers.get('location') ?? ''
  if (!/[?&]notice=/.test(to)) return true
  const page = await platform.app.request(BASE_URL + to, { headers: { cookie: ada.cookie } })
  return (await page.text()).includes('role="status"')
}

describe('the audit', () => {
  it('is told of by every route that changes something', async () => {
    const declared = NOUNS.filter((noun) => !PAGES_BY_HAND.includes(noun)).flatMap((noun) =>
      noun.read(changingRoutesOf),
    )
    const known = new Set([...Object.keys(ROUTES), ...declared])
    const untried = mounted().filter((route) => !known.has(route))
    const toDo = 'Add a call to ROUTES that succeeds and is audited, or why it is not audited.'
    expect(untried, toDo).toEqual([])
    const gone = 'Delete from ROUTES what is not mounted any more.'
    expect(
      Object.keys(ROUTES).filter((route) => !mounted().includes(route)),
      gone,
    ).toEqual([])
  })

  const wrong = [
    ['a control character', 'a\u0000b'],
    ['300,000 characters', 'x'.repeat(300_000)],
  ] as const
  it.each(few(wrong, 1))(
    'has no change of a field with %s, which every route refuses',
    async (_, text) => {
      const taken: string[] = []
      for (const [route, send] of Object.entries(ROUTES)) {
        if (typeof send === 'string' || !send.withTexts) continue
        const path = await pathOf(route)
        const texts = send.withTexts(text).filter(([field]) => !CHOICES.has(field))
        for (const [field, sendWrong] of few(texts, 1)) {
          const { status } = await sendWrong(path)
          if (status < 400 || status >= 500) taken.push(`${route}: ${field}: ${status}`)
        }
      }
      expect(taken).toEqual([])
      // The automation takes so many runs at a time.
      await platform.sql`delete from executions`
    },
  )

  it('has who changed what, for each of them, and no secret', async () => {
    const { sql, acme } = platform
    const missing: string[] = []
    const silent: string[] = []
    for (const [route, send] of Object.entries(ROUTES)) {
      if (typeof send === 'string') continue
      const path = await pathOf(route)
      const [{ last }] = await sql<[{ last: string }]>`
        select coalesce(max(id), 0)::text as last from audit_entries`
      const response = await send(path)
      const written = await sql<{ actorName: string; refused: boolean }[]>`
        select actor_name, refused from audit_entries where id > ${last}`
      const names = [acme.email, 'test', 'uploads']
      const isRight = written.some(
        ({ actorName, refused }) => !refused && names.includes(actorName),
      )
      if (response.status >= 400 || !isRight) {
        missing.push(`${route} (${path}): ${response.status}, ${written.length} entries`)
      }
      if (!(await tellsWhatWasDone(response))) silent.push(route)
    }
    expect(missing).toEqual([])
    expect(silent).toEqual([])
    const [{ all }] = await sql<[{ all: string }]>`
      select json_agg(e)::text as all from audit_entries e`
    const secrets = [PASSWORD, API_KEY, CLIENT_SECRET, token, 'secret-path', 'whsec_']
    for (const secret of [...secrets, 'hidden-header']) {
      expect(all).not.toContain(secret)
    }
  }, 300_000)
})
