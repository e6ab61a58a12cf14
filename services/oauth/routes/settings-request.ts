import * as v from 'valibot'
import {
  AUTH_METHODS,
  CONNECTION_KINDS,
  EXCHANGES,
} from '../../platform/connections/oauth-connections.ts'
import type {
  ConnectionKind,
  ConnectionSettings,
} from '../../platform/connections/oauth-connections.ts'
import { regionLabel, toolKey } from '../../platform/tools/tool-definitions.ts'
import { AppError } from '../../shared/errors.ts'
import { isPlace } from '../../shared/outgoing/allowed-places.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import { oneOf, someText } from '../../shared/schemas.ts'
import { addressProblem, testProblem } from './settings-addresses.ts'
import type { FieldProblem } from './settings-addresses.ts'
import { extraParameters, oauthScope, providerName } from '../provider-settings.ts'

const HOSTS_MAX = 50
const SCOPES_MAX = 100
const PARAMETERS_MAX = 20

/** Headers that the calls of tools set themselves, or that belong to a connection. */
const TAKEN_HEADERS: ReadonlySet<string> = new Set(
  (
    'accept accept-encoding connection content-encoding content-length content-type expect host ' +
    'idempotency-key keep-alive te trailer transfer-encoding upgrade mcp-session-id ' +
    'mcp-protocol-version last-event-id'
  ).split(' '),
)

const visible = (max: number) =>
  v.pipe(someText(max), v.regex(/^[\x20-\x7e]+$/, 'must have visible ASCII characters only'))
const url = someText(2000)

const ENTRIES = {
  /** Absent: the provider is one of the operator's. */
  kind: v.optional(oneOf(CONNECTION_KINDS)),
  provider: providerName,
  hosts: v.optional(
    v.pipe(
      v.array(
        v.pipe(
          someText(2000),
          v.check(
            isPlace,
            'must be hosts such as api.example.com or *.example.com, or beginnings of URLs such ' +
              'as https://example.com/api/',
          ),
        ),
        'must be a list',
      ),
      v.maxLength(HOSTS_MAX, `must have at most ${HOSTS_MAX} entries`),
    ),
    [],
  ),
  region: v.optional(regionLabel),
  issuer: v.optional(url),
  authorization_endpoint: v.optional(url),
  token_endpoint: v.optional(url),
  revocation_endpoint: v.optional(url),
  client_id: v.optional(visible(500)),
  client_secret: v.optional(visible(4000)),
  token_endpoint_auth_method: v.optional(oneOf(AUTH_METHODS)),
  scopes: v.optional(
    v.pipe(v.array(oauthScope, 'must be a list'), v.maxLength(SCOPES_MAX, 'has too many scopes')),
  ),
  parameters: v.optional(
    v.pipe(
      extraParameters,
      v.check(
        (given) => Object.keys(given).length <= PARAMETERS_MAX,
        `must have at most ${PARAMETERS_MAX} parameters`,
      ),
    ),
  ),
  test_url: v.optional(url),
  audience: v.optional(visible(500)),
  exchange: v.optional(oneOf(EXCHANGES)),
  header: v.optional(
    v.pipe(
      v.string('must be a text'),
      v.regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'must be the name of a header'),
      v.toLowerCase(),
      v.check((name) => !TAKEN_HEADERS.has(name), 'must not be a header that calls set themselves'),
    ),
  ),
  prefix: v.optional(
    v.pipe(
      v.string('must be a text'),
      v.regex(/^[\x21-\x7e]{0,50}$/, 'must be one word, or empty'),
    ),
  ),
  token: v.optional(
    v.pipe(
      someText(8192),
      v.regex(/^[\x21-\x7e]+$/, 'must have visible ASCII characters only, without spaces'),
    ),
  ),
}

const NAMED = { ...ENTRIES, name: toolKey }
const CHANGED = { ...ENTRIES, settings_version: v.optional(v.number('must be a number')) }

/** A connection as its form has it; secrets that were left out stay as they are. */
export interface GivenConnection {
  readonly provider: string
  readonly kind: ConnectionKind
  readonly hosts: readonly string[]
  readonly region: string | null
  /** null: the provider is one of the operator's. */
  readonly settings: ConnectionSettings | null
  readonly clientSecret: string | undefined
  readonly token: string | undefined
}

/** The surroundings that decide what may be entered. */
export interface SettingsRules {
  readonly providers: readonly string[]
  readonly guard: OutgoingGuard
}

/** Reads a new connection. Raises `unprocessable` with the problem of each field. */
export function readNewConnection(
  body: unknown,
  rules: SettingsRules,
): GivenConnection & { readonly name: string } {
  const { name, ...given } = parse(NAMED, body)
  return { ...check(given, rules), name }
}

/**
 * Reads the changed settings of a connection, and the version that the change is for, if it is for
 * one alone. Raises `unprocessable` likewise.
 */
export function readChangedConnection(
  body: unknown,
  rules: SettingsRules,
): GivenConnection & { readonly settingsVersion: number | undefined } {
  const { settings_version: settingsVersion, ...given } = parse(CHANGED, body)
  return { ...check(given, rules), settingsVersion }
}

/** Creates the error for fields that are not right. */
export function unusableFields(problems: readonly FieldProblem[]): AppError {
  const lines = problems.map(({ field, message }) => `${field} ${message}`)
  return new AppError('unprocessable', `The connection is not valid: ${lines.join('; ')}.`, {
    details: { code: 'invalid_fields', problems },
  })
}

function parse<Entries extends v.ObjectEntries>(entries: Entries, body: unknown) {
  const schema = v.strictObject(entries, (issue) =>
    issue.expected === 'never' ? 'is not known' : 'is required',
  )
  const result = v.safeParse(schema, body)
  if (result.success) return result.output
  throw unusableFields(
    result.issues.map((issue) => ({
      field: (v.getDotPath(issue) ?? 'body').replace(/\..*/, ''),
      message: issue.message,
    })),
  )
}

type Given = v.InferOutput<ReturnType<typeof entriesSchema>>
const entriesSchema = () => v.strictObject(ENTRIES)

function check(given: Given, rules: SettingsRules): GivenConnection {
  const { provider, kind, hosts, region = null, token, ...rest } = given
  const { client_secret: clientSecret, ...settings } = rest
  const problems = kind === undefined ? operatorProblems(given, rules) : ownProblems(given, rules)
  if (problems.length > 0) throw unusableFields(problems)
  return {
    provider,
    kind: kind ?? 'authorization_code',
    hosts,
    region,
    settings: kind === undefined ? null : settings,
    clientSecret,
    token,
  }
}

const OF_PROVIDERS = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'revocation_endpoint',
  'client_id',
  'client_secret',
  'token_endpoint_auth_method',
  'scopes',
  'parameters',
] as const satisfies readonly (keyof Given)[]
const OF_SENDING = ['header', 'prefix'] as const satisfies readonly (keyof Given)[]

const OF_IDENTITIES = ['audience', 'exchange'] as const satisfies readonly (keyof Given)[]

/** The connection uses a provider of the operator's, who alone knows its settings. */
function operatorProblems(given: Given, { providers }: SettingsRules): FieldProblem[] {
  const problems = superfluous(given, [
    ...OF_PROVIDERS,
    ...OF_SENDING,
    'token',
    ...OF_IDENTITIES,
    'test_url',
  ])
  if (providers.includes(given.provider)) return problems
  const known = providers.length > 0 ? providers.join(', ') : 'none is configured'
  return [...problems, { field: 'provider', message: `is none of the operator's: ${known}` }]
}

const superfluous = (given: Given, fields: readonly (keyof Given)[]): FieldProblem[] =>
  fields
    .filter((field) => given[field] !== undefined)
    .map((field) => ({ field, message: 'does not belong to this kind of connection' }))

function ownProblems(given: Given, rules: SettingsRules): FieldProblem[] {
  const addresses = ['issuer', 'authorization_endpoint', 'token_endpoint'] as const
  const urls = [...addresses, 'revocation_endpoint', 'test_url'] as const
  return [
    ...problemsOfKind(given),
    ...urls.flatMap((field) => addressProblem(field, given[field], rules.guard)),
    ...testProblem(given),
  ]
}

function problemsOfKind(given: Given): FieldProblem[] {
  if (given.kind === 'static_token') return superfluous(given, [...OF_PROVIDERS, ...OF_IDENTITIES])
  if (given.kind !== 'identity') return clientProblems(given)
  const needed = (['audience', 'hosts'] as const).filter((field) => !given[field]?.length)
  return [
    ...superfluous(given, ['token']),
    ...needed.map((field) => ({ field, message: 'is required' })),
    ...exchangeProblems(given),
  ]
}

function exchangeProblems(given: Given): FieldProblem[] {
  const { exchange, client_secret: secret, token_endpoint_auth_method: method = 'none' } = given
  if (exchange === undefined) return superfluous(given, OF_PROVIDERS)
  const isNowhere = given.issuer === undefined && given.token_endpoint === undefined
  const isProof = exchange === 'client_assertion'
  const isWithoutClient = given.client_id === undefined
  return [
    ...superfluous(given, ['authorization_endpoint', 'revocation_endpoint']),
    ...broken([
      [isNowhere, 'token_endpoint', 'is needed, or the issuer instead'],
      [isWithoutClient && isProof, 'client_id', 'is required: the identity proves this client'],
      [isWithoutClient && method !== 'none', 'client_id', 'is required beside a secret'],
      [isProof && method !== 'none', 'token_endpoint_auth_method', 'must be none: it needs none'],
      [secret !== undefined && method === 'none', 'client_secret', 'is not sent with this method'],
    ]),
  ]
}

type RuleOfField = readonly [isBroken: boolean, field: string, message: string]

const broken = (rules: readonly RuleOfField[]): FieldProblem[] =>
  rules.flatMap(([isBroken, field, message]) => (isBroken ? [{ field, message }] : []))

function clientProblems(given: Given): FieldProblem[] {
  const { kind, issuer, authorization_endpoint: page, token_endpoint: token } = given
  const isForItself = kind === 'client_credentials'
  const isPublic = given.token_endpoint_auth_method === 'none'
  const isAuthenticated = given.client_secret !== undefined
  const isWithoutToken = token === undefined
  const rules: readonly RuleOfField[] = [
    [isForItself && page !== undefined, 'authorization_endpoint', 'is not used: no one signs in'],
    [
      issuer === undefined && isWithoutToken,
      'issuer',
      'is needed, or the endpoints of the provider instead',
    ],
    [
      !isForItself && !isWithoutToken && page === undefined,
      'authorization_endpoint',
      'is needed beside the token endpoint',
    ],
    [
      isWithoutToken && page !== undefined,
      'token_endpoint',
      'is needed beside the authorization endpoint',
    ],
    [
      isWithoutToken && given.revocation_endpoint !== undefined,
      'revocation_endpoint',
      'goes with a token endpoint only: else it is discovered',
    ],
    [given.client_id === undefined, 'client_id', 'is required'],
    [isPublic && isAuthenticated, 'client_secret', 'is not sent without authentication'],
    [isForItself && isPublic, 'token_endpoint_auth_method', 'must use a secret: no one signs in'],
  ]
  return [...superfluous(given, [...OF_SENDING, 'token', ...OF_IDENTITIES]), ...broken(rules)]
}
