import type {
  ConnectionKind,
  OauthConnection,
} from '../../../platform/connections/oauth-connections.ts'
import { isObject } from '../../../shared/is-object.ts'
import { AppError } from '../../../shared/errors.ts'
import { findShape } from './shapes.ts'
import { fillTexts, TEXTS } from './texts.ts'
import type { TextName, Texts } from './texts.ts'

/** The name of a field of the form. */
export type FieldName = TextName | 'client_secret' | 'token'

/** A form of a connection as it was typed. */
export interface TypedConnection {
  /** The shape that it began with, or the operator's provider. */
  readonly provider: string
  /** null: the provider is one of the operator's. */
  readonly kind: ConnectionKind | null
  readonly texts: Texts
}

/** A form of a connection, read. */
interface ReadConnection {
  readonly typed: TypedConnection
  readonly clientSecret: string
  readonly token: string
}

/** What is wrong with the fields, in words. */
export type FieldProblems = Readonly<Partial<Record<string, string>>>

/** The beginnings of a form; secrets are never shown again. */
const USUAL: Partial<Texts> = {
  token_endpoint_auth_method: 'client_secret_basic',
  header: 'Authorization',
  prefix: 'Bearer',
}

/**
 * Returns the form of a new connection: that of a shape, or of an operator's provider; undefined
 * for an unknown shape.
 */
export function newConnection(provider: string, isOperators: boolean): TypedConnection | undefined {
  if (isOperators) return { provider, kind: null, texts: fillTexts({ name: provider }) }
  const shape = findShape(provider)
  if (!shape) return undefined
  const name = shape.registration === undefined ? '' : shape.key
  return { provider, kind: shape.kind, texts: fillTexts({ ...USUAL, ...shape.texts, name }) }
}

/** Returns a connection as its form shows it. */
export function toTyped(connection: OauthConnection): TypedConnection {
  const { provider, name, kind, settings, hosts, region } = connection
  const { parameters = {}, scopes = [], ...texts } = settings ?? {}
  const lines = Object.entries(parameters).map(([key, value]) => `${key}=${value}`)
  const lists = {
    name,
    scopes: scopes.join(' '),
    parameters: lines.join('\n'),
    hosts: hosts.join('\n'),
    region: region ?? '',
  }
  return {
    provider,
    kind: settings === null ? null : kind,
    texts: fillTexts({ ...USUAL, ...texts, ...lists }),
  }
}

/** Reads the form of a connection; the OAuth service tells what is wrong with it. */
export function readConnectionForm(
  form: URLSearchParams,
  { provider, kind }: Pick<TypedConnection, 'provider' | 'kind'>,
): ReadConnection {
  const read = (name: string): string => (form.get(name) ?? '').trim()
  const texts = fillTexts(Object.fromEntries(TEXTS.map((name) => [name, read(name)])))
  const typed = { provider, kind, texts }
  return { typed, clientSecret: read('client_secret'), token: read('token') }
}

/** Returns a form as the OAuth service takes it. */
export function toBody({ typed, clientSecret, token }: ReadConnection): object {
  const { provider, kind, texts } = typed
  const common = { provider, hosts: linesOf(texts.hosts), ...given('region', texts.region) }
  if (kind === null) return common
  const test = given('test_url', texts.test_url)
  if (kind === 'static_token' || kind === 'identity') {
    const { header, prefix } = texts
    const own = kind === 'identity' ? identityOf(texts, clientSecret) : given('token', token)
    return { ...common, ...test, kind, ...given('header', header), prefix, ...own }
  }
  return {
    ...common,
    ...test,
    kind,
    ...given('authorization_endpoint', texts.authorization_endpoint),
    ...given('revocation_endpoint', texts.revocation_endpoint),
    ...clientOf(texts, clientSecret),
  }
}

const clientOf = (texts: Texts, clientSecret: string): object => ({
  ...given('issuer', texts.issuer),
  ...given('token_endpoint', texts.token_endpoint),
  ...given('client_id', texts.client_id),
  ...given('client_secret', clientSecret),
  ...given('token_endpoint_auth_method', texts.token_endpoint_auth_method),
  scopes: texts.scopes.split(/\s+/).filter(Boolean),
  parameters: parametersOf(texts.parameters),
})

const identityOf = (texts: Texts, clientSecret: string): object => ({
  ...given('audience', texts.audience),
  ...(texts.exchange !== '' && { exchange: texts.exchange, ...clientOf(texts, clientSecret) }),
})

const given = (name: string, text: string): object => (text === '' ? {} : { [name]: text })

const linesOf = (text: string): string[] =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter(Boolean)

/** A line without an equals sign is a parameter that is empty. */
const parametersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
      .map((line) => {
        const [name = '', ...value] = line.split('=')
        return [name.trim(), value.join('=').trim()]
      }),
  )

const LABELS: Readonly<Record<string, string>> = {
  client_id: 'The client ID',
  client_secret: 'The client secret',
  hosts: 'Places',
  test_url: 'The test address',
  token_endpoint_auth_method: 'The authentication',
}

/** Returns what is wrong with each field; raises any other error. */
export function fieldProblemsOf(thrown: unknown): FieldProblems {
  const problems = thrown instanceof AppError ? thrown.details['problems'] : undefined
  if (!Array.isArray(problems)) throw thrown
  const listed = problems.filter(isObject).map(({ field, message }) => {
    const name = String(field)
    const label = LABELS[name] ?? `The ${name.replaceAll('_', ' ')}`
    return [name, `${label} ${String(message)}.`] as const
  })
  return Object.fromEntries(listed)
}
