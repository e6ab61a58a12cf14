import type { MiddlewareHandler } from 'hono'
import type { OrganizationRole } from '../../../platform/people/memberships.ts'
import { isRole } from './right.ts'
import type { RightOfRoute } from './right.ts'

/** A right of people. */
export type DeclaredRight = OrganizationRole | 'person'

const isDeclared = (right: unknown): right is DeclaredRight => isRole(right) || right === 'person'

/**
 * Creates the mark of a route that people, or members with a role, may call. It lets each call
 * pass: `checkRights` reads the marks of all routes, and refuses before this is reached.
 */
export const declareRight = (right: DeclaredRight): MiddlewareHandler =>
  Object.assign(async (_: unknown, next: () => Promise<void>) => next(), { right })

interface Mounted {
  readonly method: string
  readonly path: string
  readonly handler: object
}

/** Returns the rights of the routes that declare them where they are. */
export const declaredRights = (routes: readonly Mounted[]): readonly RightOfRoute[] =>
  routes.flatMap(({ method, path, handler }): RightOfRoute[] =>
    'right' in handler && isDeclared(handler.right) ? [[`${method} ${path}`, handler.right]] : [],
  )
