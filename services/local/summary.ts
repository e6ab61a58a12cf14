import { shellWord } from '../shared/shell-word.ts'

/** Everything a person or a script needs to use a platform that runs on this machine. */
export interface Summary {
  readonly web_url: string
  readonly collector_url: string
  /** For OTLP over gRPC. */
  readonly collector_grpc_url: string
  readonly metrics_url: string
  readonly oauth_url: string
  readonly api_prefix: string
  readonly automation_id: string
  /** The id of the organization that the person who signs in belongs to. */
  readonly organization: string
  readonly static_token: string
  readonly debug_token: string
  readonly collector_jwt_secret: string
  readonly admin_email: string
  readonly admin_password: string
  readonly database_url: string
  readonly collector_database_url: string
  /** A file for a shell to source: what the walks of the manual use. */
  readonly env_file: string
  /** A file for a shell to source, with `--with-idp`. */
  readonly oauth_env_file?: string
}

/** Where a collector listens. */
interface CollectorUrls {
  readonly url: string
  /** Undefined without a port for gRPC. */
  readonly grpcUrl?: string | undefined
  readonly metricsUrl: string
}

/** The addresses of a collector. */
export const collectorUrls = ({ url, grpcUrl = '', metricsUrl }: CollectorUrls) => ({
  collector_url: url,
  collector_grpc_url: grpcUrl,
  metrics_url: metricsUrl,
})

/** The variables of `env_file`. */
export const shellVariables = (summary: Omit<Summary, 'env_file'>) => ({
  API: automationUrl(summary),
  DESIGNER: `${summary.web_url}/designer/v2`,
  TOOLS: `${summary.web_url}/tools`,
  TOKEN: summary.static_token,
  PLATFORM_URL: summary.web_url,
  PLATFORM_DEBUG_TOKEN: summary.debug_token,
  COLLECTOR_URL: summary.collector_url,
  COLLECTOR_JWT_SECRET: summary.collector_jwt_secret,
  ORGANIZATION: summary.organization,
  DATABASE_URL: summary.database_url,
})

const automationUrl = ({
  web_url,
  api_prefix,
  automation_id,
}: Pick<Summary, 'web_url' | 'api_prefix' | 'automation_id'>): string =>
  `${web_url}/${api_prefix}/api/v1/crew/${automation_id}`

/** The text that `npm start` prints; the inputs are for its first automation. */
export function describeSummary(
  summary: Summary,
  inputs: Readonly<Record<string, string>>,
): string {
  const api = automationUrl(summary)
  const authorization = `-H 'Authorization: Bearer ${summary.static_token}'`
  const body = shellWord(JSON.stringify({ inputs }))
  const kickoff =
    `RUN=$(curl -sS -X POST ${api}/kickoff ${authorization} -H 'Content-Type: application/json' ` +
    `-d ${body} | sed 's/.*"status_url":"\\([^"]*\\)".*/\\1/')`
  const traceToken =
    `TRACE_TOKEN=$(COLLECTOR_JWT_SECRET=${summary.collector_jwt_secret} ` +
    `npm run --silent collector -- token --org ${summary.organization})`
  const exporter =
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${summary.collector_url} ` +
    'OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer $TRACE_TOKEN"'
  return `
The platform runs.

  Web          ${summary.web_url}
  Sign in      ${summary.admin_email}  ${summary.admin_password}
  Debug token  ${summary.debug_token}
  OAuth        ${summary.oauth_url}
  Collector    ${summary.collector_url}  (metrics: ${summary.metrics_url}/metrics)
  OTLP/gRPC    ${summary.collector_grpc_url}
  Database     ${summary.database_url}
  Traces       ${summary.collector_database_url}
  Variables    ${summary.env_file}  (for a shell: API, TOKEN, ORGANIZATION, …)

Start a run:

  ${kickoff}

See how it is doing; repeat until its status is completed:

  curl -sS "$RUN" ${authorization}

Send traces of your own, and read them:

  ${traceToken}
  ${exporter}
  curl -sS ${summary.collector_url}/api/traces -H "Authorization: Bearer $TRACE_TOKEN"

See whether everything works:

  curl -sS ${summary.web_url}/health/debug -H 'X-Platform-Debug-Token: ${summary.debug_token}'

${oauthLines(summary)}Ctrl-C stops everything; the data is kept.
`
}

function oauthLines({ oauth_env_file: file }: Summary): string {
  if (file === undefined) return ''
  const token =
    'TOKEN=$(curl -sS $TOKEN_URL -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials ' +
    `-d scope=platform_automations | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`
  return `Call with OAuth (see docs/automation-oauth.md):

  . ${file}
  ${token}
  curl -sS $API/inputs -H "Authorization: Bearer $TOKEN"

`
}
