import type { Hono } from 'hono'
import type { WebApp } from '../../context.ts'
import { APIS, TOOLS } from './api-rights.ts'
import { CREW_PAGES } from './crew-rights.ts'
import { NOUNS } from '../../nouns/list.ts'
import { apiRights } from '../../resources/rights.ts'
import { declaredRights } from './declared-right.ts'
import { hasRight, isRole } from './right.ts'
import type { Right, RightOfRoute, Rights } from './right.ts'

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
  'GET /sign-in/link/:token': 'anybody',
  'POST /sign-in/link/:token': 'anybody',
  'GET /reset-password/:token': 'anybody',
  'POST /reset-password/:token': 'anybody',
  'GET /invitations/:token': 'anybody',
  'POST /invitations/:token': 'person',
  'POST /invitations/:token/account': 'anybody',
  'POST /sign-out': 'person',
  'GET /account': 'person',
  'POST /account/organization': 'person',
  'POST /account/display': 'person',
  'GET /account/organizations/:organizationId/leave': 'person',
  'POST /account/organizations/:organizationId/leave': 'person',
  'POST /account/sign-out-everywhere': 'person',
  'POST /account/sessions/:sessionId/end': 'person',
  'GET /account/password': 'person',
  'POST /account/password': 'person',
  'GET /': 'person',
  'GET /admin/platform_health': 'platform-admin',
  'GET /admin/organizations': 'platform-admin',
  'POST /admin/organizations': 'platform-admin',
  'POST /admin/organizations/:organizationId/invitations': 'platform-admin',
  'GET /admin/organizations/:organizationId/limits': 'platform-admin',
  'POST /admin/organizations/:organizationId/limits': 'platform-admin',
  'GET /admin/people': 'platform-admin',
  'POST /admin/people/:userId/disable': 'platform-admin',
  'POST /admin/people/:userId/enable': 'platform-admin',
  'GET /admin/people/:userId/delete': 'platform-admin',
  'POST /admin/people/:userId/delete': 'platform-admin',
  'POST /admin/people/:userId/reset': 'platform-admin',
  'GET /admin/platform_settings': 'platform-admin',
  'POST /admin/platform_settings/flags/:name': 'platform-admin',
} as const satisfies Readonly<Record<string, Right>>

/** A viewer reads, an editor designs and runs, an admin decides about people, keys and settings. */
const RUNS = {
  ...CREW_PAGES,
  'GET /find': 'viewer',
  'GET /find/entries': 'viewer',
  'GET /automations': 'viewer',
  'GET /automations/:automationId': 'viewer',
  'GET /automations/:automationId/integrate': 'viewer',
  'GET /automations/:automationId/design': 'viewer',
  'GET /automations/:automationId/settings': 'viewer',
  'POST /automations/:automationId/concurrency': 'admin',
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
  'GET /automations/:automationId/delete': 'admin',
  'POST /automations/:automationId/delete': 'admin',
  'GET /executions': 'viewer',
  'POST /run-filters': 'viewer',
  'POST /run-filters/:filterId/delete': 'viewer',
  'POST /shared-run-filters': 'editor',
  'POST /shared-run-filters/:filterId/delete': 'editor',
  'GET /approvals': 'viewer',
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
  'POST /projects/:projectId/versions/:number/tests': 'editor',
  'GET /projects/:projectId/versions/:number/definition': 'viewer',
  'GET /projects/:projectId/versions/:number/delete': 'editor',
  'POST /projects/:projectId/versions/:number/delete': 'editor',
  'POST /projects/:projectId/editor': 'editor',
  'GET /projects/:projectId/compare': 'viewer',
  'GET /projects/:projectId/manage': 'viewer',
  'POST /projects/:projectId/rename': 'editor',
  'POST /projects/:projectId/duplicate': 'editor',
  'POST /projects/:projectId/archive': 'editor',
  'POST /projects/:projectId/unarchive': 'editor',
  'GET /projects/:projectId/delete': 'editor',
  'POST /projects/:projectId/delete': 'editor',
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
  'POST /trace-filters/:id/delete': 'viewer',
} as const satisfies Readonly<Record<string, Right>>

const SETTINGS = {
  'GET /tools-packages': 'viewer',
  'GET /tools-packages/organization/:name': 'viewer',
  'GET /tools-packages/public/:name': 'viewer',
  'GET /tools-packages/files/:fileId/yank': 'editor',
  'POST /tools-packages/files/:fileId/yank': 'editor',
  'POST /tools-packages/files/:fileId/unyank': 'editor',
  'GET /audit': 'admin',
  'GET /audit-export': 'admin',
  'GET /settings': 'viewer',
  'GET /settings/organization/members': 'viewer',
  'POST /settings/organization/members/:userId/role': 'admin',
  'GET /settings/organization/members/:userId/remove': 'admin',
  'POST /settings/organization/members/:userId/remove': 'admin',
  'POST /settings/organization/invitations': 'admin',
  'POST /settings/organization/invitations/:invitationId/revoke': 'admin',
  'GET /settings/organization/oauth': 'viewer',
  'POST /settings/organization/oauth': 'admin',
  'POST /settings/organization/oauth/test': 'admin',
  'POST /settings/organization/oauth/explain': 'admin',
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

/**
 * Routes by method and path as they are mounted, with who may call them; those excepted that say it
 * themselves, and those of the automation API, which knows no people.
 */
const TABLE: readonly RightOfRoute[] = [
  ...[PEOPLE, RUNS, DESIGN, TRACES, SETTINGS, APIS, TOOLS].flatMap((each) => Object.entries(each)),
  ...NOUNS.flatMap((noun) => noun.read(apiRights)),
]

const API_ROUTES: ReadonlySet<string> = new Set([
  ...Object.keys(APIS),
  ...NOUNS.flatMap((noun) => noun.read(apiRights)).map(([route]) => route),
])

/** Returns true for a route that a token may call in place of a person. */
export const isApiRoute = (route: string): boolean => API_ROUTES.has(route)

/** Reads who may call the routes of an app, once all of them are mounted: at the first question. */
export function createRights(appOf: () => Pick<Hono<WebApp>, 'routes'>): Rights {
  let known: ReadonlyMap<string, Right> | undefined
  let patterns: readonly Pattern[] | undefined
  const table = () => (known ??= new Map([...TABLE, ...declaredRights(appOf().routes)]))
  return {
    table,
    find: (route) => (route.startsWith('GET /assets/') ? 'anybody' : table().get(route)),
    mayCall(session, method, path) {
      patterns ??= [...table()].flatMap(toPattern)
      const found = patterns.find((each) => each.method === method && each.pattern.test(path))
      return found === undefined || hasRight(session, found.right)
    },
  }
}

interface Pattern {
  readonly method: string
  /** Fits the paths that lead to the route. */
  readonly pattern: RegExp
  readonly right: Right
}

/** Only roles decide what a member sees. */
function toPattern([route, right]: RightOfRoute): Pattern[] {
  if (!isRole(right)) return []
  const [method = '', path = ''] = route.split(' ')
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`)
  return [{ method, pattern, right }]
}
