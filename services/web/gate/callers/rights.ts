import type { Hono } from 'hono'
import type { WebApp } from '../../context.ts'
import { APIS, TOOLS } from './api-rights.ts'
import { NOUNS } from '../../nouns/list.ts'
import { apiRights } from '../../resources/rights.ts'
import { declaredRights } from './declared-right.ts'
import { hasRight, isRole } from './right.ts'
import type { Right, RightOfRoute, Rights } from './right.ts'

/** What needs no organization: health, signing in, and the administration of the platform. */
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
  // Git servers, with a signature.
  'POST /git-webhooks/:automationId': 'anybody',
  'GET /account/password': 'person',
  'POST /account/password': 'person',
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

/**
 * Routes by method and path as they are mounted, with who may call them; those excepted that say it
 * themselves, and those of the automation API, which knows no people.
 */
const TABLE: readonly RightOfRoute[] = [
  ...[PEOPLE, APIS, TOOLS].flatMap((each) => Object.entries(each)),
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
