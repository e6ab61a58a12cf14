import { toError } from '../../shared/errors.ts'

/** The result of a check; the run adds the time that it took. */
export interface Result {
  readonly status: 'ok' | 'fail' | 'skipped'
  readonly checks?: string[]
  readonly error?: string
  readonly provider?: string
  readonly details?: Record<string, unknown>
}

interface Facts {
  readonly checks?: string[]
  readonly details?: Readonly<Record<string, unknown>>
  /** Instead of the code's own. */
  readonly remediation?: string
}

/** A check that passed. */
export const passed = (checks: string[], details: Record<string, unknown> = {}): Result =>
  Object.keys(details).length > 0 ? { status: 'ok', checks, details } : { status: 'ok', checks }

/** A check that this installation does not need, and why. */
export const skipped = (reason: string): Result => ({ status: 'skipped', details: { reason } })

/** A check that failed, with its code and remedy. */
export function failed(
  code: PreflightCode,
  error: string,
  { details, remediation = PREFLIGHT_CODES[code], ...rest }: Facts = {},
): Result {
  return { status: 'fail', ...rest, error, details: { code, remediation, ...details } }
}

/** A warning with its code and remedy. */
export const warning = (code: PreflightWarning, message: string) => ({
  code,
  message,
  remediation: PREFLIGHT_WARNINGS[code],
})

/** `ConnectionFailed: …` or `TimeoutError: …`, as the report says it. */
export function describeOutage(thrown: unknown): string {
  const error = toError(thrown)
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  const text = cause.message || code
  const isTimeout = /timeout|ABORT/i.test(`${error.name} ${code}`)
  return `${isTimeout ? 'TimeoutError' : 'ConnectionFailed'}: ${text}`
}

/** The codes of the checks before an installation, each with its remedy. */
export const PREFLIGHT_CODES = {
  cluster_unreachable:
    'Check the context of the kubeconfig, its credentials, and the way to the API server; ' +
    '`kubectl version` asks the same.',
  cluster_too_old: 'Upgrade the cluster, or install a release of the platform for its version.',
  rights_missing:
    'Have a person with these rights install, or grant them: `kubectl create rolebinding ' +
    'platform-install --clusterrole=admin --user=YOU -n NAMESPACE`, and the right to create ' +
    'namespaces.',
  storage_class_missing:
    'Name an existing StorageClass in postgres.storage.className and ' +
    'internalRegistry.storage.className, or mark one as the default with the annotation ' +
    'storageclass.kubernetes.io/is-default-class=true.',
  registry_unreachable:
    'Check global.image.registry, DNS, the proxy, and the authority of its certificate ' +
    '(NODE_EXTRA_CA_CERTS).',
  registry_refused:
    'The registry wants a login, or another one. Log in with `docker login` or `podman login`, ' +
    'or set REGISTRY_USERNAME and REGISTRY_PASSWORD; the nodes need the same as ' +
    'global.image.pullSecret.',
  image_missing:
    'Push the images: `npm run images -- --registry REGISTRY --push`, or correct image.tag and ' +
    'global.image.namePrefixOverride.',
  image_pull_failed:
    'The nodes cannot pull what this machine can see: check global.image.pullSecret in the ' +
    'namespace, and the way from the nodes to the registry.',
  db_unreachable:
    'Check envVars.DB_HOST and envVars.DB_PORT, that the database exists, and the way to the ' +
    'server from where this runs.',
  db_auth_failed: 'PostgreSQL refuses the login. Check envVars.DB_USER and DB_PASSWORD.',
  db_timeout: 'Check the load of the server, and whether a firewall drops packets on the way.',
  db_tls_failed:
    'Set envVars.DB_SSLMODE to what the server speaks; for verify-full name its authority in ' +
    'global.caBundle (here: NODE_EXTRA_CA_CERTS).',
  db_too_old: 'Upgrade PostgreSQL, or name another server.',
  db_grants_missing: 'Grant the missing privileges.',
  db_shared:
    'Create an empty database for the collector and name it in postgres.collectorDatabase.',
  idp_unreachable: 'Check auth.issuerUrl, DNS, the proxy and the authority of its certificate.',
  idp_http_error:
    'The provider answers, but not at its discovery endpoint. Set auth.issuerUrl to the issuer ' +
    'itself, without /.well-known.',
  idp_issuer_mismatch: 'Set auth.issuerUrl to the issuer that the discovery document names.',
  idp_document_incomplete:
    'What answers is no discovery document. Set auth.issuerUrl to the issuer itself.',
  idp_keys_missing:
    'The provider publishes no key that signs tokens. Look at its jwks_uri, and at its settings.',
  egress_blocked: 'Let the cluster reach these addresses, by HTTPS_PROXY where there is a proxy.',
  clock_skewed:
    'Set the clocks by NTP: tokens are refused when issuer and platform differ by more than 30 s.',
  timeout: 'The check did not end in time. Run it again with a larger --timeout.',
  check_failed: 'The check itself failed, which is a mistake in this program. Report it.',
} as const

/** A code of the checks before an installation. */
type PreflightCode = keyof typeof PREFLIGHT_CODES

/** The codes of warnings, each with its remedy. */
export const PREFLIGHT_WARNINGS = {
  db_unencrypted:
    'Passwords and data cross the network in the clear. Set envVars.DB_SSLMODE to require, or ' +
    'better to verify-full.',
} as const

/** A code of a warning. */
type PreflightWarning = keyof typeof PREFLIGHT_WARNINGS
