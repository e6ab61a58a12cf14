import { Hono } from 'hono'
import type { Env, MiddlewareHandler } from 'hono'
import { isRight } from './right.ts'
import type { Right, RightOfRoute } from './right.ts'

/**
 * Creates the mark of a route that says who may call it. It lets each call pass: `checkRights`
 * reads the marks of all routes, and refuses before this is reached.
 */
export const declareRight = (right: Right): MiddlewareHandler =>
  Object.assign(async (_: unknown, next: () => Promise<void>) => next(), { right })

/** Marks routes that are made where rights are unknown, all with the same one. */
export function declareRightOf<Of extends Env>(right: Right, routes: Hono<Of>): Hono<Of> {
  const marked = new Hono<Of>()
  const each = routes.routes.filter(({ method }) => method !== 'ALL')
  for (const { method, path } of each) marked.on(method, path, declareRight(right))
  marked.route('/', routes)
  return marked
}

interface Mounted {
  readonly method: string
  readonly path: string
  readonly handler: object
}

/** Returns the rights of the routes, which declare them where they are. */
export const declaredRights = (routes: readonly Mounted[]): readonly RightOfRoute[] =>
  routes.flatMap(({ method, path, handler }): RightOfRoute[] =>
    'right' in handler && isRight(handler.right) ? [[`${method} ${path}`, handler.right]] : [],
  )
