import type { MiddlewareHandler } from 'hono'
import type { OrganizationCall, SignedIn, WebDeps } from '../../context.ts'
import { identify } from '../../diagnostics/access.ts'
import { answerNotFound } from '../../http/errors.ts'
import { actorOf, toIdentity } from './actor.ts'
import { requireOrganization } from './organization.ts'
import { createRefusals } from './refusals.ts'
import { readSession } from './session.ts'

/** Lets those pass who are administrators now, by the database; answers 404 to all others. */
export function requireAdministrator(deps: WebDeps): MiddlewareHandler<SignedIn> {
  const recordRefusal = createRefusals(deps)
  return async function checkRole(c, next) {
    const session = (await identify(c, deps)) ? await readSession(c, deps) : undefined
    if (!session?.user.roles.includes('platform-admin')) {
      recordRefusal(c)
      return answerNotFound(c)
    }
    c.set('session', session)
    c.set('actor', actorOf(c, deps, toIdentity(session.user)))
    c.var.wide['user_id'] = session.user.id
    return next()
  }
}

/**
 * Lets calls of the API pass that administrators make with their sessions; for anything but
 * reading, with proof that a page of ours sent the call. Answers 404 to all others, and to every
 * token: none is good for the whole platform.
 */
export function requireAdministratorCall(deps: WebDeps): MiddlewareHandler<OrganizationCall> {
  const administrator: MiddlewareHandler = requireAdministrator(deps)
  const session = requireOrganization(deps)
  return async function checkCall(c, next) {
    if (c.req.header('authorization') === undefined) {
      return administrator(c, async () => {
        await session(c, next)
      })
    }
    await identify(c, deps)
    return answerNotFound(c)
  }
}
