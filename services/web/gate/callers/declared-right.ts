import type { MiddlewareHandler } from 'hono'
import type { Operation } from '../../api/openapi/operation.ts'
import { isRight } from './right.ts'
import type { Right, RightOfRoute } from './right.ts'

/**
 * Creates the mark of a route that says who may call it and, of an API, what it does. It lets each
 * call pass: `checkRights` reads the marks of all routes, and refuses before this is reached.
 */
export const declareRight = (right: Right, operation?: Operation): MiddlewareHandler =>
  Object.assign(async (_: unknown, next: () => Promise<void>) => next(), { right, operation })

/** A route of an app. */
export interface Mounted {
  readonly method: string
  readonly path: string
  readonly handler: object
}

/** Returns the rights of the routes, which declare them where they are. */
export const declaredRights = (routes: readonly Mounted[]): readonly RightOfRoute[] =>
  routes.flatMap(({ method, path, handler }): RightOfRoute[] =>
    'right' in handler && isRight(handler.right) ? [[`${method} ${path}`, handler.right]] : [],
  )
