import { Hono } from 'hono'
import { createKnowledgeIntake } from './intake/knowledge/add-knowledge.ts'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { healthRoutes } from '../shared/http/health.ts'
import { requestLog } from '../shared/log.ts'
import { createIdentityProvider } from './sign-in/oidc/provider.ts'
import { createBadTokens } from './gate/callers/bad-tokens.ts'
import { createPasswordChecks } from './sign-in/password-checks.ts'
import { openGate } from './gate/access-token/open-gate.ts'
import { checkRights } from './gate/callers/check-rights.ts'
import { createLimits } from './gate/callers/create-limits.ts'
import { createRights } from './gate/callers/rights.ts'
import { createSeenAdministrators } from './gate/callers/seen-administrators.ts'
import type { WebApp, WebDeps, WebOptions } from './context.ts'
import { identify } from './diagnostics/access.ts'
import { createDiagnostics } from './diagnostics/create-diagnostics.ts'
import { refuseNul } from './http/refuse-nul.ts'
import { accountRoutes } from './console/account/routes.ts'
import { approvalRoutes } from './console/approvals/routes.ts'
import { assetRoutes } from './console/frame/asset-routes.ts'
import { automationApiRoutes } from './api/automation/routes.ts'
import { createRunWatch } from './api/automation/run-watch.ts'
import { auditRoutes } from './console/audit/routes.ts'
import { automationRoutes } from './console/automations/routes.ts'
import { budgetPageRoutes } from './console/budgets/routes.ts'
import { findRoutes } from './console/find/routes.ts'
import { dashboardRoutes } from './console/dashboard/routes.ts'
import { deploymentsRoutes } from './console/deployments/routes.ts'
import { designerRoutes } from './api/designer/routes.ts'
import { answerError, answerNotFound } from './http/errors.ts'
import { connectionRoutes } from './console/connections/routes.ts'
import { artifactRoutes } from './console/runs/artifact-routes.ts'
import { importProjectRoutes } from './console/import-project/routes.ts'
import { continueRoutes } from './console/runs/continue-routes.ts'
import { runPageRoutes } from './console/runs/page-routes.ts'
import { runListRoutes } from './console/runs/list-routes.ts'
import { runRoutes } from './console/runs/routes.ts'
import { runTextRoutes } from './console/runs/text-routes.ts'
import { healthDebugRoutes } from './diagnostics/endpoint.ts'
import { testLlmConnectionRoutes } from './console/llm-connections/routes.ts'
import { oauthSettingsRoutes } from './console/oauth-settings/routes.ts'
import { a2aRoutes } from './api/a2a/routes.ts'
import { mcpRoutes } from './api/mcp/routes.ts'
import { createApis, declareHealth, openApiRoutes } from './api/openapi/routes.ts'
import { passwordRoutes } from './sign-in/password-routes.ts'
import { platformHealthRoutes } from './diagnostics/page/routes.ts'
import { projectRoutes } from './console/projects/routes.ts'
import { resourceMetadataRoutes } from './api/automation/resource-metadata.ts'
import { invitationLinkRoutes } from './sign-in/invitations/routes.ts'
import { accountLinkRoutes } from './sign-in/links/routes.ts'
import { signInRoutes } from './sign-in/routes.ts'
import { sendTracesRoutes } from './console/send-traces/routes.ts'
import { traceListRoutes } from './console/traces/list-routes.ts'
import { traceComparisonRoutes } from './console/traces/comparison-routes.ts'
import { traceNoteRoutes } from './console/traces/note-routes.ts'
import { traceNeighbourRoutes } from './console/traces/neighbour-routes.ts'
import { sessionRoutes } from './console/traces/session-routes.ts'
import { traceStreamRoutes } from './console/traces/stream-routes.ts'
import { traceRoutes } from './console/traces/routes.ts'
import { toolPackageRoutes } from './console/tool-packages/routes.ts'
import { triggerPageRoutes } from './console/triggers/routes.ts'
import { evaluationPageRoutes } from './console/evaluations/routes.ts'
import { reviewPageRoutes } from './console/evaluations/review-routes.ts'
import { runCaseRoutes } from './console/evaluations/run-case-routes.ts'
import { modelCallPageRoutes } from './console/model-calls/routes.ts'
import { replayPageRoutes } from './console/replays/routes.ts'
import { batchPageRoutes } from './console/batches/routes.ts'
import { deliveryRoutes } from './console/webhooks/routes.ts'
import { NOUNS, PAGES_BY_HAND, PAGES_ELSEWHERE } from './nouns/list.ts'
import { workloadRuleRoutes } from './console/workload-rules/routes.ts'
import { resourcePages } from './resources/page-routes.ts'
import { tokenEndpointRoutes } from './api/workloads/token-endpoint.ts'
import { triggerRoutes } from './intake/triggers/routes.ts'
import { gitWebhookRoutes } from './intake/git-webhooks/routes.ts'
import { sourceDownloadRoutes } from './intake/source-downloads/routes.ts'
import { createTextWatch } from './run-texts/text-watch.ts'
import { toolsIndexRoutes } from './intake/tools-index/routes.ts'
import { openMailer } from './mail/open-mailer.ts'
import { securityHeaders } from './http/security-headers.ts'
import { traceCalls } from './tracing/trace-calls.ts'

/** The pages of the console, a folder each. */
const PAGES = [
  dashboardRoutes,
  findRoutes,
  automationRoutes,
  deploymentsRoutes,
  projectRoutes,
  importProjectRoutes,
  toolPackageRoutes,
  deliveryRoutes,
  triggerPageRoutes,
  replayPageRoutes,
  modelCallPageRoutes,
  evaluationPageRoutes,
  runCaseRoutes,
  reviewPageRoutes,
  batchPageRoutes,
  approvalRoutes,
  auditRoutes,
  runListRoutes,
  runRoutes,
  runPageRoutes,
  runTextRoutes,
  continueRoutes,
  artifactRoutes,
  traceListRoutes,
  traceStreamRoutes,
  traceComparisonRoutes,
  traceNeighbourRoutes,
  traceNoteRoutes,
  sessionRoutes,
  sendTracesRoutes,
  traceRoutes,
  budgetPageRoutes,
  accountRoutes,
  testLlmConnectionRoutes,
  connectionRoutes,
]

/** Builds the web service: every mount, in order. */
export function createApp(options: WebOptions): Hono<WebApp> {
  const deps: WebDeps = {
    ...options,
    rights: createRights(() => app),
    apis: createApis(options, () => app),
    seenAdministrators: createSeenAdministrators(),
    badTokens: createBadTokens(options.config.TRUSTED_PROXIES),
    ...createLimits(options),
    mailer: openMailer(options.config),
    watch: createRunWatch(options),
    texts: createTextWatch(options),
    notices: new Map(),
    takeKnowledge: createKnowledgeIntake(),
  }
  // Refuses paths that are not told apart at once: each request is matched by one expression for
  // all routes.
  const app = new Hono<WebApp>({ router: new RegExpRouter() })
  const { gate, keys, guard } = openGate(deps)
  app.use(requestLog(deps.log))
  if (deps.spans) app.use(traceCalls(deps.spans))
  app.use(securityHeaders(deps.config.PLATFORM_BASE_URL))
  // Its ids are UUIDs, whatever they are spelt with; all others are told here that no address has a
  // NUL.
  app.route('/', automationApiRoutes(deps, gate))
  app.use(refuseNul)
  app.notFound(async (c) => {
    // What a refusal at a hidden path takes, an address that has nothing takes as well.
    await identify(c, deps)
    return answerNotFound(c)
  })
  app.onError(answerError(deps))
  app.use(checkRights(deps))
  const diagnostics = createDiagnostics(deps, app)
  app.route('/', declareHealth(healthRoutes(deps)))
  app.route('/', healthDebugRoutes(deps, diagnostics))
  app.route('/', platformHealthRoutes(deps, diagnostics))
  app.route('/', assetRoutes())
  app.route('/designer/v2', designerRoutes(deps))
  app.route('/', toolsIndexRoutes(deps))
  app.route('/', sourceDownloadRoutes(deps))
  app.route('/', gitWebhookRoutes(deps))
  app.route('/', triggerRoutes(deps))
  app.route('/', tokenEndpointRoutes(deps, gate))
  const passwords = createPasswordChecks(deps.passwordCost)
  const signIn = { provider: createIdentityProvider(deps.config), passwords }
  app.route('/', signInRoutes(deps, signIn))
  app.route('/', invitationLinkRoutes(deps, signIn))
  app.route('/', accountLinkRoutes(deps, passwords))
  app.route('/', passwordRoutes(deps, passwords))
  app.route('/', openApiRoutes(deps))
  app.route('/', resourceMetadataRoutes(deps))
  app.route('/', mcpRoutes(deps, gate))
  app.route('/', a2aRoutes(deps, gate))
  for (const routes of PAGES) app.route('/', routes(deps))
  const paged = NOUNS.filter((noun) => !PAGES_BY_HAND.includes(noun))
  for (const noun of [...paged, ...PAGES_ELSEWHERE]) app.route('/', noun.read(resourcePages(deps)))
  app.route('/', oauthSettingsRoutes(deps, { keys, guard }))
  app.route('/', workloadRuleRoutes(deps, { keys }))
  return app
}
