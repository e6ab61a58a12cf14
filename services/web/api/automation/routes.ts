import { Hono } from 'hono'
import { createRunInserter } from '../../../platform/runs/insert-runs.ts'
import type { Gate } from '../../gate/access-token/gate.ts'
import type { AuthorizedCall, WebDeps } from '../../context.ts'
import { createTurns } from '../../http/file-uploads.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { forkRoute, rerunRoute, retryRoute, stepsRoute } from './again.ts'
import type { ApiRoute } from './api-route.ts'
import { artifactRoute, artifactsRoute } from './artifacts.ts'
import { automationPath } from './automation-urls.ts'
import { requireBearer } from './bearer.ts'
import { eventsRoute } from './events.ts'
import { filesRoute } from './files.ts'
import { inputsRoute, openApiRoute } from './inputs.ts'
import { kickoffRoute } from './kickoff.ts'
import { oauthBearer } from './oauth-bearer.ts'
import { createRunWatch } from './run-watch.ts'
import { resumeRoute } from './resume.ts'
import { runsRoute } from './runs.ts'
import { statusRoute } from './status.ts'
import { stopRoute } from './stop.ts'
import { findAutomationToken, isStaticToken } from '../../../platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { BearerScheme } from './bearer.ts'

const ROUTES: readonly ApiRoute[] = [
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
  const { config, sql, log, stopping, texts, queue } = deps
  const watch = createRunWatch({ sql, log, stopping })
  const takeTurn = createTurns()
  const insert = createRunInserter(sql)
  const routes = new Hono<AuthorizedCall>()
  const base = automationPath(config, ':automationId')
  const oauth = oauthBearer({ sql, gate, now: Date.now })
  const authenticate = {
    GET: requireBearer(deps, [staticBearer(sql, 'read'), oauth]),
    POST: requireBearer(deps, [staticBearer(sql, 'kickoff'), oauth]),
  }
  for (const { method, path, answer } of ROUTES) {
    routes.use(`${base}${path}`, authenticate[method])
    const route = { sql, config, log, watch, texts, takeTurn, queue, insert }
    routes.on(method, `${base}${path}`, (c) => answer(c, route))
    routes.all(`${base}${path}`, refuseMethod(method === 'GET' ? 'GET, HEAD' : method))
  }
  return routes
}

/** An automation that owns no token. */
const NOWHERE = { id: 0, organizationId: 0 }

/**
 * Accepts static bearer tokens, the default mode of the automation API (SPEC 5.2), for calls that
 * take a scope.
 */
function staticBearer(sql: Database, scope: TokenScope): BearerScheme {
  return {
    name: 'static_token',
    recognizes: isStaticToken,
    async verify(token, callable, address) {
      const { automation, oauth } = callable ?? {}
      const isOff = oauth?.enabled === true && !oauth.staticTokensAllowed
      // The same statement with or without an automation: the time tells nothing either.
      const target = automation && !isOff ? automation : NOWHERE
      const use = { automation: target, scopes: [scope], address }
      const found = await findAutomationToken(sql, token, use)
      if (!found) return { ok: false, reason: isOff ? 'static_tokens_off' : 'unknown_static_token' }
      if (found.refusal !== undefined) return { ok: false, reason: found.refusal, scope }
      return { ok: true, by: { kind: 'token', id: String(found.id), name: found.name } }
    },
  }
}
