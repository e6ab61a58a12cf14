import type { LlmConnection } from '../../../platform/llm-connections.ts'
import { providerOf } from '../../../platform/llm-providers.ts'
import { readerOf, usageOf } from '../../../platform/llm-usage.ts'
import { deadline } from '../../../shared/deadline.ts'
import type { EnvSource } from '../../../shared/env.ts'
import { toAppError } from '../../../shared/errors.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import { routeThrough } from '../../../shared/outgoing/forward-proxy.ts'
import type { ForwardProxy } from '../../../shared/outgoing/forward-proxy.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import type { ProviderUrls } from '../../diagnostics/check.ts'
import { describeOutage } from '../../diagnostics/outage.ts'
import { httpGet } from '../../diagnostics/http-get.ts'
import type { HttpAnswer } from '../../diagnostics/http-get.ts'

const TIMEOUT_MS = 3000

/** The platform's own variables, the addresses of providers, and the guard of outgoing calls. */
export interface LlmSurroundings {
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

/** The outcome of one request to a provider. */
export type Reach =
  | {
      readonly kind: 'answers'
      readonly host: string
      readonly status: number
      readonly ms: number
    }
  /** An address that this organization entered, and that crews may not call. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unreachable'; readonly host: string; readonly error: string }
  /** A variable of the platform names another address (SPEC 2.3), or none is known at all. */
  | { readonly kind: 'not_asked'; readonly why: 'platform_address' | 'unknown' }

/** The findings of a test. */
export interface ConnectionTest {
  readonly credentials: Credentials
  readonly reach: Reach
  /** The address that crews call; undefined: none is known that speaks OpenAI's protocol. */
  readonly chatUrl: string | undefined
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

/** Tests for credentials, and for an answer of the provider; sends no key (SPEC 2.3). */
export async function testConnection(
  connection: LlmConnection,
  surroundings: LlmSurroundings,
): Promise<ConnectionTest> {
  return {
    credentials: findCredentials(connection, surroundings),
    reach: await reachOf(connection, surroundings),
    chatUrl: usageOf(connection, readerOf(surroundings.env)).chatUrl,
  }
}

async function reachOf(connection: LlmConnection, surroundings: LlmSurroundings): Promise<Reach> {
  const { baseUrl } = connection
  if (baseUrl) return reachOwn(connection, baseUrl, surroundings)
  const { name, url } = providerOf(connection.provider)
  const { publicUrl } = usageOf(connection, readerOf(surroundings.env))
  if (publicUrl === undefined) {
    return { kind: 'not_asked', why: url === undefined ? 'unknown' : 'platform_address' }
  }
  return ask(new URL(surroundings.providerUrls[name] ?? publicUrl), (url, signal) =>
    httpGet(url, { signal, bytesMax: 0, route: routeThrough(surroundings.proxy, url) }),
  )
}

/** Asks an address that an organization chose, if the guard lets crews call it; without a key. */
async function reachOwn(
  { organizationId }: LlmConnection,
  baseUrl: string,
  { guard }: LlmSurroundings,
): Promise<Reach> {
  const problem = addressProblem(baseUrl)
  if (problem !== undefined) return { kind: 'refused', why: `The base URL ${problem}.` }
  const subject = `organization ${organizationId}`
  return ask(new URL(`${baseUrl.replace(/\/+$/, '')}/models`), async (url, signal) => {
    const route = await guard.pin(url, { signal, subject })
    return httpGet(url, { signal, bytesMax: 0, route })
  })
}

async function ask(
  url: URL,
  send: (url: URL, signal: AbortSignal) => Promise<HttpAnswer>,
): Promise<Reach> {
  const { host } = url
  const started = performance.now()
  try {
    const { status } = await deadline({ name: host, timeoutMs: TIMEOUT_MS }, (signal) =>
      send(url, signal),
    )
    return { kind: 'answers', host, status, ms: Math.round(performance.now() - started) }
  } catch (thrown) {
    const { details, message } = toAppError(thrown)
    if (details['problem'] === 'private_address') return { kind: 'refused', why: message }
    return { kind: 'unreachable', host, error: describeOutage(thrown) }
  }
}
