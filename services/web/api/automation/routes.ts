import { Hono } from 'hono'
import type { Context } from 'hono'
import { createRunInserter } from '../../../platform/runs/insert-runs.ts'
import type { Gate } from '../../gate/access-token/gate.ts'
import type { AuthorizedCall, WebDeps } from '../../context.ts'
import { createTurns } from '../../http/file-uploads.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { forkRoute, rerunRoute, retryRoute, stepsRoute } from './again.ts'
import type { ApiRoute } from './api-route.ts'
import { artifactRoute, artifactsRoute } from './artifacts.ts'
import { createAutomationDoors } from './automation-door.ts'
import { automationPath } from './automation-urls.ts'
import { requireBearer } from './bearer.ts'
import { eventsRoute } from './events.ts'
import { filesRoute } from './files.ts'
import { inputsRoute, openApiRoute } from './inputs.ts'
import { kickoffRoute } from './kickoff.ts'
import { resumeRoute } from './resume.ts'
import { runsRoute } from './runs.ts'
import { statusRoute } from './status.ts'
import { stopRoute } from './stop.ts'

/** The addresses of an automation. */
export const ROUTES: readonly ApiRoute[] = [
  kickoffRoute,
  statusRoute,
  eventsRoute,
  resumeRoute,
  stopRoute,
  inputsRoute,
  openApiRoute,
  filesRoute,
  runsRoute,
  retryRoute,
  forkRoute,
  rerunRoute,
  stepsRoute,
  artifactsRoute,
  artifactRoute,
]

/**
 * Mounts the automation API (SPEC 4.4). Each address asks for a token before it discloses its
 * methods.
 */
export function automationApiRoutes(deps: WebDeps, gate: Gate): Hono<AuthorizedCall> {
  const { config, sql } = deps
  const route = { ...deps, takeTurn: createTurns(), insert: createRunInserter(sql) }
  const routes = new Hono<AuthorizedCall>()
  const base = automationPath(config, ':automationId')
  const doorFor = createAutomationDoors(sql, gate)
  const authenticate = {
    GET: requireBearer(deps, doorFor('read')),
    POST: requireBearer(deps, doorFor('kickoff')),
  }
  for (const { method, path, operation, answer } of ROUTES) {
    routes.use(`${base}${path}`, authenticate[method])
    const handler = (c: Context<AuthorizedCall>) => answer(c, route)
    routes.on(method, `${base}${path}`, Object.assign(handler, { operation }))
    routes.all(`${base}${path}`, refuseMethod(method === 'GET' ? 'GET, HEAD' : method))
  }
  return routes
}
