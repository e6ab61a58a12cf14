import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import { providerOf } from '../../../platform/connections/llm-providers.ts'
import { originsOf, readerOf, usageOf } from '../../../platform/connections/llm-usage.ts'
import type { EnvSource } from '../../../shared/env.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import { createForwardProxy, routeThrough } from '../../../shared/outgoing/forward-proxy.ts'
import type { ForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import type { OutgoingGuard, Route } from '../../../shared/outgoing/guard.ts'
import { createLlmGuard } from '../../../shared/outgoing/guards.ts'
import type { WebDeps } from '../../context.ts'
import type { ProviderUrls } from '../../diagnostics/check.ts'
import type { Tone } from '../frame/parts.ts'
import { askForModels, callModel } from './ask-provider.ts'
import type { Outcome } from './ask-provider.ts'

/** The platform's own variables, the addresses of providers, and the guard of outgoing calls. */
interface LlmSurroundings {
  readonly env: EnvSource
  /** Addresses of providers that replace their public ones. */
  readonly providerUrls: ProviderUrls
  /** Checks every address that an organization chose before it is called. */
  readonly guard: OutgoingGuard
  /** For the addresses that are known for providers. @default no proxy */
  readonly proxy?: ForwardProxy | undefined
}

/** The credentials that calls through a connection carry. */
export interface Credentials {
  /** The connection's own key, the platform's variables, or none that is needed. */
  readonly source: 'connection' | 'platform' | 'none'
  /** Groups of variables of which none is set; one of each group is needed. */
  readonly missing: readonly (readonly string[])[]
}

/** The outcome of a test; or nothing was asked. */
export type Reach =
  | Outcome
  /**
   * A variable of the platform names another address (SPEC 2.3), there is none that speaks OpenAI's
   * protocol, or the key cannot be opened.
   */
  | { readonly kind: 'not_asked'; readonly why: 'platform_address' | 'unknown' | 'sealed' }

/** The findings of a test. */
export interface ConnectionTest {
  readonly credentials: Credentials
  readonly reach: Reach
  /** The address that crews call; undefined: none is known that speaks OpenAI's protocol. */
  readonly chatUrl: string | undefined
}

/** What a test does, and the key that was stored for its connection. */
interface TestRequest {
  /** undefined: it was sealed with another SECRET_KEY_BASE; null: the connection has none. */
  readonly key: string | null | undefined
  /** A model is called, which costs a few tokens; else the list of models is read. */
  readonly isCall: boolean
}

/** Returns this pod's variables, the addresses of providers, and the guard of outgoing calls. */
export function surroundingsOf({
  diagnostics,
  config,
}: Pick<WebDeps, 'diagnostics' | 'config'>): LlmSurroundings {
  const { env = {}, providerUrls = {} } = diagnostics ?? {}
  const origins = [...config.LLM_PRIVATE_ORIGINS, ...originsOf(readerOf(env))]
  const proxy = createForwardProxy(config)
  return { env, providerUrls, proxy, guard: createLlmGuard(origins, proxy) }
}

/** Returns the source of a connection's credentials in a word or two. */
export function credentialsState({ source, missing }: Credentials): readonly [Tone, string] {
  if (missing.length > 0) return ['bad', 'missing']
  if (source === 'none') return ['idle', 'no key needed']
  return ['good', source === 'connection' ? 'own key' : 'platform key']
}

/** Returns the source of a connection's credentials, and those that are missing; never a key. */
export function findCredentials(
  connection: LlmConnection,
  surroundings: LlmSurroundings,
): Credentials {
  const { platformKey, missing } = usageOf(connection, readerOf(surroundings.env))
  if (connection.hasKey) return { source: 'connection', missing }
  return { source: platformKey === undefined ? 'none' : 'platform', missing }
}

/**
 * Tests for credentials, and asks the provider as crews do: with the key, at the same host, and
 * along the same way.
 */
export async function testConnection(
  connection: LlmConnection,
  surroundings: LlmSurroundings,
  request: TestRequest,
): Promise<ConnectionTest> {
  return {
    credentials: findCredentials(connection, surroundings),
    reach: await reachOf(connection, surroundings, request),
    chatUrl: usageOf(connection, readerOf(surroundings.env)).chatUrl,
  }
}

async function reachOf(
  connection: LlmConnection,
  surroundings: LlmSurroundings,
  { key, isCall }: TestRequest,
): Promise<Reach> {
  const { baseUrl, model, api } = connection
  const problem = baseUrl ? addressProblem(baseUrl) : undefined
  if (problem !== undefined) return { kind: 'refused', why: `The base URL ${problem}.` }
  const usage = usageOf(connection, readerOf(surroundings.env))
  const { name, listKey } = providerOf(connection.provider)
  if (usage.chatUrl === undefined) return { kind: 'not_asked', why: 'unknown' }
  if (!baseUrl && !usage.publicUrl) return { kind: 'not_asked', why: 'platform_address' }
  if (key === undefined) return { kind: 'not_asked', why: 'sealed' }
  const endpoint = {
    base: baseUrl ? usage.chatUrl : (surroundings.providerUrls[name] ?? usage.chatUrl),
    model,
    api,
    key: key ?? usage.platformKey,
    listKey: baseUrl ? undefined : listKey,
    routeTo: createRoute(connection, surroundings),
  }
  return isCall ? callModel(endpoint) : askForModels(endpoint)
}

/** An address that an organization chose is asked if the guard lets crews call it. */
const createRoute =
  ({ baseUrl, organizationId }: LlmConnection, { guard, proxy }: LlmSurroundings) =>
  async (url: URL, signal: AbortSignal): Promise<Route | undefined> =>
    baseUrl
      ? guard.pin(url, { signal, subject: `organization ${organizationId}` })
      : routeThrough(proxy, url)
