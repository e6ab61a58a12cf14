import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { Session } from '../../../platform/people/sessions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { hasRight } from './right.ts'
import type { Right } from './right.ts'
import { readSession } from './session.ts'

/** These look after themselves: some need nobody, others a token, and some hide from strangers. */
const WITHOUT_SESSION: ReadonlySet<Right> = new Set(['anybody', 'token', 'platform-admin'])

/**
 * Applies the table of rights to every route. Reads the session, with the role of this moment, for
 * the routes behind; those turn away whoever has none. Raises `forbidden` for a person whose role
 * does not allow the call, before anything of the call is read.
 */
export function checkRights(deps: WebDeps): MiddlewareHandler<WebApp> {
  return async function checkRight(c, next) {
    const route = mountedRoute(c)
    if (route === undefined) return next()
    const right = deps.rights.find(route)
    if (right === undefined) throw new AppError('forbidden', `No role may call ${route}.`)
    if (WITHOUT_SESSION.has(right) || isOfToken(c, route)) return next()
    const session = await readSession(c, deps)
    if (!session) return next()
    c.set('session', session)
    const problem = findProblem(session, right)
    if (problem === undefined) return next()
    const { id, organizationId } = session.user
    const facts = { user_id: id, organization_id: organizationId, role: session.role ?? 'none' }
    Object.assign(c.var.wide, { audit: 'refused', ...facts })
    throw new AppError('forbidden', problem)
  }
}

/** A header that is there decides: a call with a token never has the rights of the cookie. */
const isOfToken = (c: Context, route: string): boolean =>
  / \/designer\/v2\//.test(route) && c.req.header('authorization') !== undefined

/**
 * Returns the method and the path of the route that answers, as mounted. What is mounted for all
 * methods only says which of them there are.
 */
function mountedRoute(c: Context<WebApp>): string | undefined {
  const found = matchedRoutes(c).find(
    ({ method, path }) => method !== 'ALL' && !path.endsWith('/*'),
  )
  return found && `${found.method} ${found.path}`
}

function findProblem(session: Session, right: Right): string | undefined {
  if (hasRight(session, right)) return undefined
  const { role, organization } = session
  return role === null
    ? 'You are not a member of any organization. Ask an admin of yours for an invitation.'
    : `This takes the role ${right} in ${organization}, and yours is ${role}. An admin of the ` +
        'organization can change it.'
}
