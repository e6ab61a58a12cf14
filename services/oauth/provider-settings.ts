import * as v from 'valibot'
import { AUTH_METHODS } from '../platform/connections/oauth-connections.ts'
import type { AuthMethod } from '../platform/connections/oauth-connections.ts'
import type { EnvSource } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'
import { oneOf } from '../shared/schemas.ts'

/** The parameters of an authorization or token request that settings may not replace. */
const RESERVED: ReadonlySet<string> = new Set([
  'response_type',
  'response_mode',
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'grant_type',
  'code',
  'code_verifier',
  'redirect_uri',
  'scope',
  'state',
  'assertion',
  'subject_token',
  'subject_token_type',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
])
const PROVIDERS_MAX = 100

interface ProviderEndpoints {
  /** Absent for a client that authenticates for itself. */
  readonly authorization?: string | undefined
  readonly token: string
  readonly revocation: string | undefined
}

/** One third-party provider, as the operator or an organization configured it. */
export interface ProviderSettings {
  readonly name: string
  /** The place where its settings are, for messages. */
  readonly place: string
  /**
   * Without endpoints they are discovered from here; with them, what `iss` in an answer must be.
   */
  readonly issuer: string | undefined
  readonly endpoints: ProviderEndpoints | undefined
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly authMethod: AuthMethod
  readonly scopes: readonly string[]
  /** Of the authorization request, or of the token request of a client for itself. */
  readonly parameters: Readonly<Record<string, string>>
  /** One of its URLs is plain http. */
  readonly isInsecure: boolean
}

/** The name of a provider. */
export const providerName = v.pipe(
  v.string('must be a text'),
  v.regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, - and _'),
)
const filled = v.pipe(v.string('must be a text'), v.nonEmpty('must not be empty'))
const variable = v.pipe(
  v.string('must be a text'),
  v.regex(/^[A-Z_][A-Z0-9_]*$/, 'must be the name of an environment variable'),
)
/** One scope of OAuth. */
export const oauthScope = v.pipe(
  v.string('must be a text'),
  v.regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be one scope, without spaces'),
)
/** Parameters that go along with a request. */
export const extraParameters = v.record(
  v.pipe(
    v.string(),
    v.check((key) => !RESERVED.has(key), 'is set by this service and cannot be given'),
  ),
  v.string('must be a text'),
)

const providerSchema = (url: ReturnType<typeof urlSchema>) =>
  v.pipe(
    v.strictObject(
      {
        name: providerName,
        issuer: v.optional(url),
        authorization_endpoint: v.optional(url),
        token_endpoint: v.optional(url),
        revocation_endpoint: v.optional(url),
        client_id: filled,
        client_secret: v.optional(filled),
        client_secret_env: v.optional(variable),
        token_endpoint_auth_method: v.optional(oneOf(AUTH_METHODS), 'client_secret_basic'),
        scopes: v.optional(v.array(oauthScope, 'must be a list of texts'), []),
        authorization_params: v.optional(extraParameters, {}),
      },
      (issue) => (issue.expected === 'never' ? 'is not known' : 'is required'),
    ),
    v.check(
      (given) =>
        (given.authorization_endpoint === undefined) === (given.token_endpoint === undefined),
      'must have both of authorization_endpoint and token_endpoint, or neither',
    ),
    v.check(
      (given) => given.issuer !== undefined || given.token_endpoint !== undefined,
      'must have an issuer, or authorization_endpoint and token_endpoint',
    ),
    v.check(
      (given) => given.revocation_endpoint === undefined || given.token_endpoint !== undefined,
      'has a revocation_endpoint, which goes with token_endpoint only: else it is discovered',
    ),
    v.check(
      (given) =>
        [given.client_secret, given.client_secret_env].filter((each) => each !== undefined)
          .length === (given.token_endpoint_auth_method === 'none' ? 0 : 1),
      'must have one of client_secret and client_secret_env, or token_endpoint_auth_method ' +
        '"none" and neither',
    ),
  )

type GivenProvider = v.InferOutput<ReturnType<typeof providerSchema>>

/** Allows https, and plain http only on this machine or where the operator permits it. */
export function isAllowedUrl(url: string, allowHttp: boolean): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, hash } = new URL(url)
  if (username !== '' || hash !== '') return false
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && (isLoopback || allowHttp))
}

const urlSchema = (allowHttp: boolean) =>
  v.pipe(
    v.string('must be a text'),
    v.check(
      (url) => isAllowedUrl(url, allowHttp),
      'must be an https:// URL without a user and a fragment (http:// on loopback, or with ' +
        'OAUTH_ALLOW_HTTP=true)',
    ),
  )

/**
 * Reads `OAUTH_PROVIDERS`; secrets may be in variables of their own. Raises `invalid_configuration`
 * that lists every mistake at once and shows no value.
 */
export function readProviders(
  json: string,
  { source, allowHttp }: { source: EnvSource; allowHttp: boolean },
): ReadonlyMap<string, ProviderSettings> {
  const given = parseList(json)
  const schema = providerSchema(urlSchema(allowHttp))
  const problems: string[] = []
  const providers = new Map<string, ProviderSettings>()
  for (const [index, entry] of given.entries()) {
    const result = v.safeParse(schema, entry)
    if (!result.success) {
      problems.push(...result.issues.map((issue) => `${labelOf(entry, index)}${describe(issue)}`))
      continue
    }
    const settings = toSettings(result.output, source)
    const { client_secret_env: variableName } = result.output
    if (variableName !== undefined && settings.clientSecret === undefined)
      problems.push(`${labelOf(entry, index)} client_secret_env ${variableName} is not set`)
    if (providers.has(settings.name)) problems.push(`${labelOf(entry, index)} name is there twice`)
    providers.set(settings.name, settings)
  }
  if (problems.length > 0) throw invalid(problems)
  return providers
}

function parseList(json: string): unknown[] {
  let given: unknown
  try {
    given = JSON.parse(json.trim() === '' ? '[]' : json)
  } catch {
    throw invalid([`is not JSON (${json.length} characters)`])
  }
  if (!Array.isArray(given)) throw invalid(['must be a JSON list of providers'])
  if (given.length > PROVIDERS_MAX) throw invalid([`has more than ${PROVIDERS_MAX} providers`])
  return given
}

const labelOf = (entry: unknown, index: number): string => {
  const named = v.safeParse(v.object({ name: providerName }), entry)
  return named.success ? `[${index}] (${named.output.name})` : `[${index}]`
}

function describe(issue: v.BaseIssue<unknown>): string {
  const path = v.getDotPath(issue)
  return path === null ? ` ${issue.message}` : ` ${path} ${issue.message}`
}

function invalid(problems: readonly string[]): AppError {
  const lines = problems.map((problem) => `  - OAUTH_PROVIDERS ${problem}`)
  return new AppError(
    'invalid_configuration',
    `The OAuth providers are not valid:\n${lines.join('\n')}`,
    { details: { variables: ['OAUTH_PROVIDERS'] } },
  )
}

function toSettings(given: GivenProvider, source: EnvSource): ProviderSettings {
  const { authorization_endpoint: authorization, token_endpoint: token } = given
  const revocation = given.revocation_endpoint
  const fromVariable = given.client_secret_env && source[given.client_secret_env]
  const urls = [given.issuer, authorization, token, revocation]
  return {
    name: given.name,
    place: 'OAUTH_PROVIDERS',
    issuer: given.issuer,
    endpoints: authorization && token ? { authorization, token, revocation } : undefined,
    clientId: given.client_id,
    clientSecret: given.client_secret ?? (fromVariable || undefined),
    authMethod: given.token_endpoint_auth_method,
    scopes: given.scopes,
    parameters: given.authorization_params,
    isInsecure: urls.some((url) => url?.startsWith('http:')),
  }
}
