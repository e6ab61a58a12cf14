import { Hono } from 'hono'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { healthRoutes } from '../shared/health.ts'
import { requestLog } from '../shared/log.ts'
import { createIdentityProvider } from './auth/oidc/provider.ts'
import { createBadTokens } from './auth/bad-tokens.ts'
import { createPasswordChecks } from './auth/password-checks.ts'
import { openGate } from './auth/access-token/open-gate.ts'
import { createSeenAdministrators } from './auth/seen-administrators.ts'
import type { WebApp, WebDeps, WebOptions } from './context.ts'
import { identify } from './diagnostics/access.ts'
import { createDiagnostics } from './diagnostics/create-diagnostics.ts'
import { refuseNul } from './refuse-nul.ts'
import { assetRoutes } from './routes/assets.ts'
import { automationApiRoutes } from './routes/automation-api.ts'
import { automationRoutes } from './routes/automations.ts'
import { clientFilteringRoutes } from './routes/client-filtering.ts'
import { dashboardRoutes } from './routes/dashboard.ts'
import { designerRoutes } from './routes/designer.ts'
import { answerError, answerNotFound } from './routes/errors.ts'
import { executionPageRoutes } from './routes/execution.ts'
import { executionListRoutes } from './routes/execution-lists.ts'
import { executionRoutes } from './routes/executions.ts'
import { healthDebugRoutes } from './routes/health-debug.ts'
import { llmConnectionRoutes } from './routes/llm-connections.ts'
import { oauthSettingsRoutes } from './routes/oauth-settings.ts'
import { openApiRoutes } from './routes/openapi.ts'
import { passwordRoutes } from './routes/password.ts'
import { platformHealthRoutes } from './routes/platform-health.ts'
import { platformSettingsRoutes } from './routes/platform-settings.ts'
import { resourceMetadataRoutes } from './routes/resource-metadata.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { staticTokenRoutes } from './routes/static-tokens.ts'
import { toolsIndexRoutes } from './routes/tools-index.ts'
import { securityHeaders } from './security-headers.ts'

/** The web service: every mount, in order. */
export function createApp(options: WebOptions): Hono<WebApp> {
  const deps: WebDeps = {
    ...options,
    seenAdministrators: createSeenAdministrators(),
    badTokens: createBadTokens(options.config.TRUSTED_PROXIES),
  }
  // Refuses paths that are not told apart at once: each request is matched by one expression for all routes.
  const app = new Hono<WebApp>({ router: new RegExpRouter() })
  const { judge, keys, guard } = openGate(deps)
  app.use(requestLog(deps.log))
  app.use(securityHeaders(deps.config.PLATFORM_BASE_URL))
  // Its ids are UUIDs, whatever they are spelt with; all others are told here that no address has a NUL.
  app.route('/', automationApiRoutes(deps, judge))
  app.use(refuseNul)
  app.notFound(async (c) => {
    // What a refusal at a hidden path takes, an address that has nothing takes as well.
    await identify(c, deps)
    return answerNotFound(c)
  })
  app.onError(answerError(deps))
  const diagnostics = createDiagnostics(deps, app)
  app.route('/', healthRoutes(deps))
  app.route('/', healthDebugRoutes(deps, diagnostics))
  app.route('/', platformHealthRoutes(deps, diagnostics))
  app.route('/', platformSettingsRoutes(deps))
  app.route('/', assetRoutes())
  app.route('/designer/v2', designerRoutes(deps))
  app.route('/', toolsIndexRoutes(deps))
  const passwords = createPasswordChecks()
  app.route('/', signInRoutes(deps, { provider: createIdentityProvider(deps.config), passwords }))
  app.route('/', passwordRoutes(deps, passwords))
  app.route('/', openApiRoutes(deps))
  app.route('/', resourceMetadataRoutes(deps))
  app.route('/', dashboardRoutes(deps))
  app.route('/', automationRoutes(deps))
  app.route('/', staticTokenRoutes(deps))
  app.route('/', executionListRoutes(deps))
  app.route('/', executionRoutes(deps))
  app.route('/', executionPageRoutes(deps))
  app.route('/', llmConnectionRoutes(deps))
  app.route('/', oauthSettingsRoutes(deps, { keys, guard }))
  app.route('/', clientFilteringRoutes(deps))
  return app
}
