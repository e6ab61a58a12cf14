import { inspectRoutes } from 'hono/dev'
import { createInvitation } from '../../../../services/platform/people/invitations.ts'
import { setMembership } from '../../../../services/platform/people/memberships.ts'
import type { OrganizationRole } from '../../../../services/platform/people/memberships.ts'
import { createSession, findSession } from '../../../../services/platform/people/sessions.ts'
import { ensureUser, grantRole } from '../../../../services/platform/people/users.ts'
import { NOUNS } from '../../../../services/web/nouns/list.ts'
import type { Reader } from '../../../../services/web/resources/declaration.ts'
import { namesOf } from '../../../../services/web/resources/names.ts'
import { API, pathsOf } from '../../../../services/web/resources/rights.ts'
import { definition } from '../../../support/crew.ts'
import { seedSettings, startRuns } from './console-states.ts'
import { examplesOf, readCreated } from '../resources/examples.ts'
import { BASE_URL } from './platform.ts'
import type { Platform, SignedInUser } from './platform.ts'
import { recordCall, STEP } from './recorded-call.ts'

/** A route as it is mounted. */
export interface MountedRoute {
  readonly method: string
  readonly path: string
}

/** What is mounted at a path of its own, each once; for all methods are the refusals of methods. */
export function mountedRoutes(app: Platform['app']): MountedRoute[] {
  const found = inspectRoutes(app)
    .filter(({ path }) => !path.endsWith('/*'))
    .map(({ method, path }): [string, MountedRoute] => [`${method} ${path}`, { method, path }])
  return [...new Map(found).values()]
}

/** Signs somebody in who has that role in an organization; without one, a member of none. */
export async function signInAs(
  { sql, acme }: Platform,
  name: string,
  role?: OrganizationRole | 'platform-admin',
): Promise<SignedInUser & { readonly userId: number }> {
  const { organizationId } = acme
  const user = { organizationId, email: `${name}@roles.test`, name, passwordHash: null }
  const userId = await ensureUser(sql, user)
  if (role === 'platform-admin') await grantRole(sql, userId, role)
  else if (role) await setMembership(sql, { userId, organizationId, role })
  const token = await createSession(sql, userId)
  const session = await findSession(sql, token)
  if (!session) throw new Error('no session')
  const { csrfToken } = session
  return { userId, token, csrfToken, cookie: `platform_session=${token}` }
}

/** The pages of automations that are made from sources. */
const CREWS =
  /^(\/designer\/v2)?\/automations\/:automationId\/(deployments|crew|environment|delete)/

/** The parameter of the routes of a resource, its address in the API, and an example. */
const readExample: Reader<Readonly<{ parameter: string; path: string; body: object }>> = (
  declaration,
) => ({
  parameter: namesOf(declaration.kind).parameter,
  path: API + pathsOf(declaration).list,
  body: examplesOf(declaration),
})

/** What each parameter of a path is called with, so that it leads to something of `acme`. */
export async function fillPaths(platform: Platform): Promise<(path: string) => string> {
  const { sql, acme } = platform
  const runs = await startRuns(platform)
  await recordCall(sql, { runId: runs.completed, request: { model: 'test-model', messages: [] } })
  const ids = await seedSettings(platform)
  await sql`
    insert into run_scores (run_id, deployment_id, organization_id, state, scored_at)
    values (${runs.completed}, ${acme.research.id}, ${acme.organizationId}, 'passed', now())`
  const { organizationId, userId } = acme
  const [{ connection }] = await sql<[{ connection: string }]>`
    insert into oauth_connections (organization_id, provider, name)
    values (${organizationId}, 'github', 'GitHub') returning id as connection`
  const invitation = await createInvitation(sql, {
    organizationId,
    role: 'viewer',
    note: '',
    createdBy: userId,
  })
  await createSession(sql, userId)
  const token = await platform.issueToken(acme)
  const [{ sessionId }] = await sql<[{ sessionId: string }]>`
    select id as session_id from sessions where user_id = ${userId} limit 1`
  const [{ filter }] = await sql<[{ filter: number }]>`
    insert into trace_filters (organization_id, user_id, name, query)
    values (${organizationId}, ${userId}, 'Slow', '') returning id as filter`
  const [{ runFilter }] = await sql<[{ runFilter: number }]>`
    insert into run_filters (organization_id, user_id, is_shared, name, query)
    values (${organizationId}, ${userId}, true, 'Failed', 'status=error')
    returning id as run_filter`
  const [{ traceToken }] = await sql<[{ traceToken: string }]>`
    insert into trace_tokens (organization_id, token_id, name, scope, expires_at)
    values (${organizationId}, gen_random_uuid(), 'CI', 'traces:write', now() + interval '1 day')
    returning token_id as trace_token`
  const [{ note }] = await sql<[{ note: string }]>`
    insert into trace_notes (organization_id, trace_id, author_id, note)
    values (${organizationId}, ${runs.completed}, ${userId}, 'Look at this') returning id as note`
  const [, proposal = ''] = ids.designer.find(([name]) => name === 'a proposal') ?? []
  const [, , projectId = '', , proposalId = ''] = proposal.split('/')
  const [, ownCrew = ''] = ids.crew.find(([name]) => name === 'automation from source') ?? []
  const [{ variable }] = await sql<[{ variable: number }]>`
    select max(id) as variable from crew_variables`
  const byParent: Readonly<Record<string, string | number>> = {
    connections: connection,
    'trace-filters': filter,
    sources: 1,
  }
  const byName: Record<string, string | number> = {
    automationId: acme.research.automationId,
    kickoffId: runs.completed,
    taskId: runs.completed,
    configId: runs.completed,
    verb: ':send',
    stepKey: STEP,
    projectId,
    proposalId,
    number: 1,
    staticTokenId: ids.token,
    traceTokenId: traceToken,
    oauthClientId: acme.research.automationId,
    ownCrewId: ownCrew.replace('/automations/', ''),
    environmentVariableId: variable,
    gitSourceId: acme.research.automationId,
    oauthSettingId: organizationId,
    regionRuleId: organizationId,
    traceScoreRuleId: organizationId,
    webhookId: ids.webhook,
    scheduleId: ids.schedule,
    triggerId: ids.trigger,
    eventId: ids.event,
    workloadRuleId: ids.workloadRule,
    replayId: ids.replay,
    caseSetId: ids.caseSet,
    caseId: ids.caseId,
    evaluationId: ids.evaluation,
    gateId: ids.gate,
    replayGateId: acme.research.automationId,
    scoreRuleId: acme.research.automationId,
    batchId: ids.batch,
    alertId: ids.alert,
    erasureId: ids.erasure,
    legalHoldId: ids.legalHold,
    size: 1,
    entryId: 1,
    llmConnectionId: ids.connection,
    connectionId: connection,
    deliveryId: ids.message,
    manager: 'ci',
    period: 'day',
    name: 'report.md',
    stream: 'build',
    traceId: runs.completed.replaceAll('-', ''),
    spanId: '0123456789abcdef',
    sha256: 'a'.repeat(64),
    noteId: note,
    filename: 'a-1.0.tar.gz',
    fileId: ids.file,
    filterId: runFilter,
    featureFlagId: 'k8s_namespace_isolation',
    userId: acme.userId,
    memberId: acme.userId,
    organizationId,
    sessionId,
    invitationId: invitation.id,
    token: invitation.token,
  }
  for (const { parameter, path, body } of NOUNS.map((noun) => noun.read(readExample))) {
    byName[parameter] ??= await create(
      path.replace(':automationId', acme.research.automationId),
      body,
    )
  }
  return (path) => {
    if (path === '/tools-packages/organization/:name') return path.replace(':name', 'tides')
    if (CREWS.test(path)) return fillNames(path.replace('/automations/:automationId', ownCrew))
    return fillNames(path)
  }

  /** Creates a row of a resource, and returns its id. */
  async function create(path: string, body: object): Promise<string> {
    const answer = await platform.app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return String((await readCreated(path, answer))['id'])
  }

  function fillNames(path: string): string {
    const [, parent = ''] = path.split('/')
    const query = path.endsWith('/search') ? '?q=pump' : ''
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
      const value = /^(id|filterId)$/.test(name) ? (byParent[parent] ?? byName[name]) : byName[name]
      if (value === undefined) throw new Error(`Say in every-route.ts what :${name} of ${path} is.`)
      return String(value)
    })
    return filled + query
  }
}

/** Where the pages take archives of sources. */
const SOURCES = /^\/new-automation$|^\/automations\/[^/]+\/deployments$/

function formFor(path: string, csrfToken = ''): FormData | URLSearchParams {
  const isUpload = path === '/import-project' || SOURCES.test(path)
  if (!isUpload) return new URLSearchParams({ csrf_token: csrfToken })
  const form = new FormData()
  form.append('csrf_token', csrfToken)
  form.append('source', new File(['{}'], 'source.zip'))
  form.append('files', new File(['{}'], 'crew.jsonc'))
  return form
}

/** Calls a route as a browser would, with or without the CSRF token of the session. */
export async function callRoute(
  { app, lines }: Pick<Platform, 'app' | 'lines'>,
  { method, path }: MountedRoute,
  who?: Pick<SignedInUser, 'cookie'> & { readonly csrfToken?: string },
): Promise<{ readonly status: number; readonly error: unknown; readonly location: string | null }> {
  const isJson = /^\/designer\/.*\/versions/.test(path)
  const body = isJson ? JSON.stringify({ definition }) : formFor(path, who?.csrfToken)
  const response = await app.request(BASE_URL + path, {
    method,
    headers: {
      ...(isJson ? { 'content-type': 'application/json' } : {}),
      ...(who ? { cookie: who.cookie } : {}),
      ...(who?.csrfToken ? { 'x-csrf-token': who.csrfToken } : {}),
    },
    ...(method === 'GET' ? {} : { body }),
  })
  await response.body?.cancel()
  const { status, headers } = response
  return { status, error: lines.at(-1)?.['error'], location: headers.get('location') }
}
