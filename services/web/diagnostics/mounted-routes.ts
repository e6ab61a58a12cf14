import { inspectRoutes } from 'hono/dev'
import type { Hono } from 'hono'
import type { WebApp } from '../context.ts'

/** The HTTP surfaces that the report asks the router about (SPEC 2.3). */
const SURFACES = {
  designer: /^\/designer\/v2(\/|$)/,
  /** The simple repository API of Python packages (PEP 503), wherever it is mounted. */
  toolsIndex: /\/simple(\/|$)/,
} as const

export type Surface = keyof typeof SURFACES
export type IsMounted = (surface: Surface) => boolean

/** Asks the router itself, when it is asked: what is mounted is what answers. */
export function routesOf(app: Hono<WebApp>): IsMounted {
  return (surface) =>
    inspectRoutes(app).some(
      ({ path, method, isMiddleware }) =>
        !isMiddleware && (method === 'GET' || method === 'ALL') && SURFACES[surface].test(path),
    )
}
