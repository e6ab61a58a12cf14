import type { OrganizationRole } from '../../platform/memberships.ts'

/**
 * Who may call a route: anybody; whoever has a token of an organization; a person with a session,
 * whatever the organization; a member of the organization with at least that role; or an
 * administrator of the whole platform, to whom alone such a route exists.
 */
export type Right = 'anybody' | 'token' | 'person' | OrganizationRole | 'platform-admin'

/** What every person has, signed in or not. */
const PEOPLE = {
  'GET /health': 'anybody',
  'GET /health/ready': 'anybody',
  'GET /health/live': 'anybody',
  'GET /health/debug': 'platform-admin',
  'GET /openapi.json': 'anybody',
  'GET /.well-known/oauth-protected-resource': 'anybody',
  'GET /sign-in': 'anybody',
  'POST /sign-in': 'anybody',
  'GET /sign-in/start': 'anybody',
  'GET /sign-in/callback': 'anybody',
  'POST /sign-out': 'person',
  'GET /account/password': 'person',
  'POST /account/password': 'person',
  'GET /': 'person',
  'GET /admin/platform_health': 'platform-admin',
  'GET /admin/platform_settings': 'platform-admin',
  'POST /admin/platform_settings/flags/:name': 'platform-admin',
} as const satisfies Readonly<Record<string, Right>>

/** A viewer reads, an editor designs and runs, an admin decides about people, keys and settings. */
const RUNS = {
  'GET /automations': 'viewer',
  'GET /automations/:automationId': 'viewer',
  'POST /automations/:automationId/concurrency': 'admin',
  'GET /automations/:automationId/tokens': 'viewer',
  'POST /automations/:automationId/tokens': 'admin',
  'GET /automations/:automationId/budgets': 'viewer',
  'POST /automations/:automationId/budgets/:period': 'admin',
  'POST /automations/:automationId/budgets/:period/resume': 'admin',
  'GET /automations/:automationId/webhooks': 'viewer',
  'POST /automations/:automationId/webhooks': 'admin',
  'GET /automations/:automationId/webhooks/:webhookId': 'viewer',
  'POST /automations/:automationId/webhooks/:webhookId': 'admin',
  'POST /automations/:automationId/webhooks/:webhookId/key': 'admin',
  'POST /automations/:automationId/webhooks/:webhookId/test': 'admin',
  'POST /automations/:automationId/webhooks/:webhookId/pause': 'admin',
  'POST /automations/:automationId/webhooks/:webhookId/resume': 'admin',
  'POST /automations/:automationId/webhooks/:webhookId/redeliver': 'admin',
  'POST /automations/:automationId/webhooks/:webhookId/delete': 'admin',
  'GET /automations/:automationId/webhooks/:webhookId/deliveries/:deliveryId': 'viewer',
  'POST /automations/:automationId/webhooks/:webhookId/deliveries/:deliveryId': 'admin',
  'GET /automations/:automationId/executions': 'viewer',
  'POST /automations/:automationId/executions': 'editor',
  'GET /automations/:automationId/executions/:kickoffId': 'viewer',
  'GET /automations/:automationId/executions/:kickoffId/live': 'viewer',
  'GET /automations/:automationId/executions/:kickoffId/output': 'viewer',
  'GET /automations/:automationId/executions/:kickoffId/texts': 'viewer',
  'GET /automations/:automationId/executions/:kickoffId/artifacts/:name': 'viewer',
  'GET /automations/:automationId/executions/:kickoffId/artifacts/:name/content': 'viewer',
  'POST /automations/:automationId/executions/:kickoffId/again': 'editor',
  'GET /automations/:automationId/executions/:kickoffId/continue': 'editor',
  'POST /automations/:automationId/executions/:kickoffId/continue': 'editor',
  'POST /automations/:automationId/executions/:kickoffId/approval': 'editor',
  'POST /automations/:automationId/executions/:kickoffId/resume': 'admin',
  'GET /automations/:automationId/executions/:kickoffId/stop': 'editor',
  'POST /automations/:automationId/executions/:kickoffId/stop': 'editor',
  'GET /new-automation': 'editor',
  'POST /new-automation': 'editor',
  'POST /new-automation/empty': 'editor',
  'GET /automations/:automationId/deployments': 'viewer',
  'POST /automations/:automationId/deployments': 'editor',
  'POST /automations/:automationId/crew/deploy-again': 'editor',
  'GET /automations/:automationId/crew/live': 'viewer',
  'GET /automations/:automationId/deployments/:number': 'viewer',
  'GET /automations/:automationId/deployments/:number/live': 'viewer',
  'GET /automations/:automationId/deployments/:number/logs/:stream': 'viewer',
  'POST /automations/:automationId/deployments/:number/roll-back': 'editor',
  'POST /automations/:automationId/crew/restart': 'editor',
  'POST /automations/:automationId/crew/stop': 'editor',
  'POST /automations/:automationId/crew/start': 'editor',
  'GET /automations/:automationId/crew-settings': 'viewer',
  'POST /automations/:automationId/crew-settings': 'editor',
  'GET /automations/:automationId/environment': 'viewer',
  'POST /automations/:automationId/environment': 'editor',
  'POST /automations/:automationId/environment/many': 'editor',
  'POST /automations/:automationId/environment/delete': 'editor',
  'GET /automations/:automationId/delete': 'admin',
  'POST /automations/:automationId/delete': 'admin',
  'GET /executions': 'viewer',
  'GET /approvals': 'viewer',
  'GET /budgets': 'viewer',
  'POST /budgets/:period': 'admin',
  'POST /budgets/:period/resume': 'admin',
} as const satisfies Readonly<Record<string, Right>>

const DESIGN = {
  'GET /projects': 'viewer',
  'POST /projects': 'editor',
  'GET /projects/:projectId': 'viewer',
  'GET /projects/:projectId/new-version': 'editor',
  'POST /projects/:projectId/versions': 'editor',
  'GET /projects/:projectId/versions/:number': 'viewer',
  'POST /projects/:projectId/versions/:number': 'editor',
  'POST /projects/:projectId/versions/:number/publish': 'editor',
  'POST /projects/:projectId/proposals': 'editor',
  'GET /projects/:projectId/proposals/:proposalId': 'viewer',
  'GET /projects/:projectId/proposals/:proposalId/live': 'viewer',
  'GET /projects/:projectId/proposals/:proposalId/definition': 'viewer',
  'POST /projects/:projectId/proposals/:proposalId/accept': 'editor',
  'POST /projects/:projectId/proposals/:proposalId/discard': 'editor',
  'GET /import-project': 'editor',
  'POST /import-project': 'editor',
  'POST /import-project/drafts': 'editor',
} as const satisfies Readonly<Record<string, Right>>

/** The saved filters of the list of traces are each person's own. */
const TRACES = {
  'GET /traces': 'viewer',
  'GET /traces/:traceId': 'viewer',
  'GET /traces/:traceId/rows': 'viewer',
  'POST /traces/:traceId/notes': 'editor',
  'POST /traces/:traceId/notes/:noteId/delete': 'editor',
  'GET /traces/:traceId/next': 'viewer',
  'GET /traces/:traceId/previous': 'viewer',
  'GET /traces/:traceId/search': 'viewer',
  'GET /traces/:traceId/otlp': 'viewer',
  'GET /traces/:traceId/spans/:spanId': 'viewer',
  'GET /traces/:traceId/spans/:spanId/raw': 'viewer',
  'GET /sessions': 'viewer',
  'GET /session': 'viewer',
  'GET /usage': 'viewer',
  'GET /usage.csv': 'viewer',
  'GET /trace-comparison': 'viewer',
  'GET /trace-events': 'viewer',
  'GET /trace-export': 'viewer',
  'POST /trace-filters': 'viewer',
  'GET /trace-filters/:id/delete': 'viewer',
  'POST /trace-filters/:id/delete': 'viewer',
  'GET /send-traces': 'viewer',
  'POST /send-traces/tokens': 'admin',
  'GET /send-traces/tokens/:id/revoke': 'admin',
  'POST /send-traces/tokens/:id/revoke': 'admin',
} as const satisfies Readonly<Record<string, Right>>

const SETTINGS = {
  'GET /tokens': 'viewer',
  'GET /tokens/:tokenId/replace': 'admin',
  'POST /tokens/:tokenId/replace': 'admin',
  'GET /tokens/:tokenId/revoke': 'admin',
  'POST /tokens/:tokenId/revoke': 'admin',
  'GET /audit': 'admin',
  'GET /audit-export': 'admin',
  'GET /settings': 'viewer',
  'GET /settings/organization/oauth': 'viewer',
  'POST /settings/organization/oauth': 'admin',
  'POST /settings/organization/oauth/test': 'admin',
  'POST /settings/organization/oauth/explain': 'admin',
  'GET /settings/organization/oauth/clients': 'viewer',
  'POST /settings/organization/oauth/clients/:automationId': 'admin',
  'GET /llm-connections': 'viewer',
  'POST /llm-connections': 'admin',
  'GET /new-llm-connection': 'admin',
  'GET /llm-connections/:id': 'viewer',
  'POST /llm-connections/:id': 'admin',
  'POST /llm-connections/:id/test': 'admin',
  'POST /llm-connections/:id/delete': 'admin',
  'GET /connections': 'viewer',
  'POST /connections': 'admin',
  'GET /new-connection': 'admin',
  'GET /connections/:id': 'viewer',
  'POST /connections/:id': 'admin',
  'POST /connections/:id/connect': 'admin',
  'POST /connections/:id/test': 'admin',
  'POST /connections/:id/revoke': 'admin',
  'POST /connections/:id/delete': 'admin',
  'GET /connect/callback': 'admin',
} as const satisfies Readonly<Record<string, Right>>

/** The routes that a token may call in place of a person. */
const APIS = {
  'GET /designer/v2/projects': 'viewer',
  'POST /designer/v2/projects': 'editor',
  'GET /designer/v2/projects/:projectId': 'viewer',
  'GET /designer/v2/projects/:projectId/versions': 'viewer',
  'POST /designer/v2/projects/:projectId/versions': 'editor',
  'GET /designer/v2/projects/:projectId/versions/:number': 'viewer',
  'PUT /designer/v2/projects/:projectId/versions/:number': 'editor',
  'POST /designer/v2/projects/:projectId/versions/:number/publish': 'editor',
  'POST /designer/v2/projects/:projectId/imports': 'editor',
  'GET /designer/v2/projects/:projectId/executions': 'viewer',
  'POST /designer/v2/projects/:projectId/executions': 'editor',
  'GET /designer/v2/executions': 'viewer',
  'GET /designer/v2/executions/:kickoffId': 'viewer',
  'GET /designer/v2/budgets': 'viewer',
  'PUT /designer/v2/budgets/:period': 'admin',
  'DELETE /designer/v2/budgets/:period': 'admin',
  'GET /designer/v2/automations/:automationId/budgets': 'viewer',
  'PUT /designer/v2/automations/:automationId/budgets/:period': 'admin',
  'DELETE /designer/v2/automations/:automationId/budgets/:period': 'admin',
  'POST /designer/v2/automations': 'editor',
  'GET /designer/v2/automations/:automationId': 'viewer',
  'DELETE /designer/v2/automations/:automationId': 'admin',
  'PATCH /designer/v2/automations/:automationId/settings': 'editor',
  'POST /designer/v2/automations/:automationId/restart': 'editor',
  'POST /designer/v2/automations/:automationId/stop': 'editor',
  'POST /designer/v2/automations/:automationId/start': 'editor',
  'GET /designer/v2/automations/:automationId/deployments': 'viewer',
  'POST /designer/v2/automations/:automationId/deployments': 'editor',
  'GET /designer/v2/automations/:automationId/deployments/:number': 'viewer',
  'GET /designer/v2/automations/:automationId/deployments/:number/logs/:stream': 'viewer',
  'GET /designer/v2/automations/:automationId/variables': 'viewer',
  'PUT /designer/v2/automations/:automationId/variables/:name': 'editor',
  'DELETE /designer/v2/automations/:automationId/variables/:name': 'editor',
} as const satisfies Readonly<Record<string, Right>>

const TOOLS = {
  // Pods and builds, with a link that a worker signed.
  'GET /sources/:id/source.tar.gz': 'anybody',

  'GET /tools/public/simple': 'anybody',
  'GET /tools/public/simple/': 'anybody',
  'GET /tools/public/simple/:name': 'anybody',
  'GET /tools/public/simple/:name/': 'anybody',
  'GET /tools/public/files/:filename': 'anybody',
  'POST /tools/public': 'token',
  'POST /tools/public/': 'token',
  'PUT /tools/public/files/:filename/yanked': 'token',
  'DELETE /tools/public/files/:filename/yanked': 'token',
  'GET /tools/organization/simple': 'token',
  'GET /tools/organization/simple/': 'token',
  'GET /tools/organization/simple/:name': 'token',
  'GET /tools/organization/simple/:name/': 'token',
  'GET /tools/organization/files/:filename': 'token',
  'POST /tools/organization': 'token',
  'POST /tools/organization/': 'token',
  'PUT /tools/organization/files/:filename/yanked': 'token',
  'DELETE /tools/organization/files/:filename/yanked': 'token',
} as const satisfies Readonly<Record<string, Right>>

/**
 * Every route of the web service, by method and path as it is mounted, with who may call it; those
 * of the automation API excepted, which knows no people. A route that is missing here answers
 * nobody.
 */
export const RIGHTS: ReadonlyMap<string, Right> = new Map<string, Right>(
  [PEOPLE, RUNS, DESIGN, TRACES, SETTINGS, APIS, TOOLS].flatMap((each) => Object.entries(each)),
)

const API_ROUTES: ReadonlySet<string> = new Set(Object.keys(APIS))

/** Returns true for a route that a token may call in place of a person. */
export const isApiRoute = (route: string): boolean => API_ROUTES.has(route)

/** Finds who may call a route; undefined for one that nobody decided about. */
export const findRight = (route: string): Right | undefined =>
  route.startsWith('GET /assets/') ? 'anybody' : RIGHTS.get(route)
