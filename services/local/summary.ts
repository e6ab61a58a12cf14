/** Everything a person or a script needs to use a platform that runs on this machine. */
export interface Summary {
  readonly web_url: string
  readonly collector_url: string
  readonly metrics_url: string
  readonly oauth_url: string
  readonly api_prefix: string
  readonly automation_id: string
  readonly static_token: string
  readonly debug_token: string
  readonly collector_jwt_secret: string
  readonly admin_email: string
  readonly admin_password: string
  readonly database_url: string
  readonly collector_database_url: string
  /** A file for a shell to source, with `--with-idp`. */
  readonly oauth_env_file?: string
}

export interface Examples {
  /** Inputs that the automation takes. */
  readonly inputs: Readonly<Record<string, string>>
  /** A run that exists. */
  readonly kickoffId: string
}

/** What `npm start` prints for people. */
export function describeSummary(summary: Summary, { inputs, kickoffId }: Examples): string {
  const api = `${summary.web_url}/${summary.api_prefix}/api/v1/crew/${summary.automation_id}`
  const authorization = `-H 'Authorization: Bearer ${summary.static_token}'`
  const body = JSON.stringify({ inputs }).replaceAll("'", String.raw`'\''`)
  return `
The platform runs.

  Web          ${summary.web_url}
  Sign in      ${summary.admin_email}  ${summary.admin_password}
  Debug token  ${summary.debug_token}
  OAuth        ${summary.oauth_url}
  Collector    ${summary.collector_url}  (metrics: ${summary.metrics_url}/metrics)
  Database     ${summary.database_url}
  Traces       ${summary.collector_database_url}

Start a run:

  curl -sS -X POST ${api}/kickoff ${authorization} -H 'Content-Type: application/json' -d '${body}'

See how a run went:

  curl -sS ${api}/status/${kickoffId} ${authorization}

See whether everything works:

  curl -sS ${summary.web_url}/health/debug -H 'X-Platform-Debug-Token: ${summary.debug_token}'

${oauthLines(summary)}Ctrl-C stops everything; the data stay.
`
}

function oauthLines({ oauth_env_file: file }: Summary): string {
  if (file === undefined) return ''
  return `Call with OAuth (see "Call the API with OAuth" in README.md):

  . ${file}
  TOKEN=$(curl -sS $TOKEN_URL -u "$CLIENT_ID:$CLIENT_SECRET" -d grant_type=client_credentials -d scope=platform_automations | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -sS $API/inputs -H "Authorization: Bearer $TOKEN"

`
}
