import type { Context } from 'hono'
import { matchedRoutes } from 'hono/route'

/**
 * The pattern of the route that a request went to, such as `/users/:id`; `/*` when there is none.
 * What is mounted for all addresses, before or after, is no route.
 */
export function routeOf(c: Context): string {
  const routes = matchedRoutes(c)
  return routes.findLast(({ path }) => !path.endsWith('/*'))?.path ?? '/*'
}
