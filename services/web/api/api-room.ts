import { Hono } from 'hono'
import type { Context } from 'hono'
import type { OrganizationCall, WebDeps } from '../context.ts'
import { declareRight } from '../gate/callers/declared-right.ts'
import { requireOrganization } from '../gate/callers/organization.ts'
import type { Right } from '../gate/callers/right.ts'
import type { Operation } from './openapi/operation.ts'
import { refuseMethod } from '../http/refuse-method.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
type Method = (typeof METHODS)[number]
type Answer = (c: Context<OrganizationCall>) => Promise<Response> | Response

/** A path, and what the route there does. */
type Place = readonly [path: string, operation: Operation]
type Add = (right: Right, place: Place, answer: Answer) => void

/** The routes of an API, each of which says who may call it. */
export interface ApiRoom extends Readonly<Record<Method, Add>> {
  /** Returns the routes. Their addresses refuse other methods, to callers that are known. */
  readonly routes: () => Hono<OrganizationCall>
}

/**
 * Creates the routes of an API, for callers on behalf of an organization unless others are
 * authenticated.
 *
 * @example
 * const api = createApi(deps)
 * api.get('viewer', ['/limits', get], async (c) => c.json(await readLimits(c)))
 * api.put('admin', ['/limits', set], async (c) => c.json(await saveLimits(c)))
 * return api.routes()
 */
export function createApi(deps: WebDeps, authenticate = requireOrganization(deps)): ApiRoom {
  const routes = new Hono<OrganizationCall>()
  const methodsAt = new Map<string, Method[]>()
  const add =
    (method: Method): Add =>
    (right, [path, operation], answer) => {
      routes[method](path, declareRight(right, operation), authenticate, answer)
      methodsAt.set(path, [...(methodsAt.get(path) ?? []), method])
    }
  return {
    get: add('get'),
    post: add('post'),
    put: add('put'),
    patch: add('patch'),
    delete: add('delete'),
    routes() {
      for (const [path, methods] of methodsAt) {
        const allowed = METHODS.filter((each) => methods.includes(each))
        const allow = allowed.join(', ').toUpperCase().replace('GET', 'GET, HEAD')
        routes.all(path, authenticate, refuseMethod(allow))
      }
      return routes
    },
  }
}
