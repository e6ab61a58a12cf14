import { inspectRoutes } from 'hono/dev'
import type { Env, Hono } from 'hono'
import { declareCodes } from './failure-code.ts'

/** The code of a surface that the router does not serve. */
export const ROUTE_CODES = declareCodes({
  route_not_mounted:
    'This image does not serve that route. Deploy an image of the same version as the chart.',
})

/** The paths of the HTTP surfaces that the report asks the router for (SPEC 2.3). */
const SURFACES = {
  designer: /^\/designer\/v2(\/|$)/,
  /** The simple repository API of Python packages (PEP 503), wherever it is mounted. */
  toolsIndex: /\/simple(\/|$)/,
} as const

/** An HTTP surface of this service. */
type Surface = keyof typeof SURFACES
/** Returns true if this service serves a surface. */
export type IsMounted = (surface: Surface) => boolean

/** Looks the surfaces up in the router itself, on each call: what is mounted is what answers. */
export function routesOf<AppEnv extends Env>(app: Hono<AppEnv>): IsMounted {
  return (surface) =>
    inspectRoutes(app).some(
      ({ path, method, isMiddleware }) =>
        !isMiddleware && (method === 'GET' || method === 'ALL') && SURFACES[surface].test(path),
    )
}
