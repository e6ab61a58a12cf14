import type { MiddlewareHandler } from 'hono'
import type { OrganizationRole } from '../../../platform/people/memberships.ts'
import { isRole } from './right.ts'
import type { RightOfRoute } from './right.ts'

/**
 * Creates the mark of a route that members with a role may call. It lets each call pass:
 * `checkRights` reads the marks of all routes, and refuses before this is reached.
 */
export const declareRight = (right: OrganizationRole): MiddlewareHandler =>
  Object.assign(async (_: unknown, next: () => Promise<void>) => next(), { right })

interface Mounted {
  readonly method: string
  readonly path: string
  readonly handler: object
}

/** Returns the rights of the routes that declare them where they are. */
export const declaredRights = (routes: readonly Mounted[]): readonly RightOfRoute[] =>
  routes.flatMap(({ method, path, handler }): RightOfRoute[] =>
    'right' in handler && isRole(handler.right) ? [[`${method} ${path}`, handler.right]] : [],
  )
