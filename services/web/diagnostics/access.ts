import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { hasLiveRole } from '../../platform/people/sessions.ts'
import type { Session } from '../../platform/people/sessions.ts'
import { deadline } from '../../shared/deadline.ts'
import { singleHeader } from '../../shared/http/single-header.ts'
import { isSame } from '../gate/callers/forms.ts'
import { readSession, sessionToken } from '../gate/callers/session.ts'
import type { WebDeps } from '../context.ts'
import type { PROVIDERS, WebConfig } from '../env.ts'

/** A shorter token can be guessed. It works, with a warning at start. */
const TOKEN_LENGTH_SAFE = 32
const SESSION_TIMEOUT_MS = 2000

/** The kinds of installation that have the endpoint (SPEC 4.1). */
const AVAILABLE: Readonly<Record<(typeof PROVIDERS)[number], boolean>> = {
  kubernetes: true,
  managed_kubernetes: true,
  serverless: false,
  local: false,
}

type ProviderConfig = Pick<WebConfig, 'PLATFORM_SELF_HOSTED' | 'PLATFORM_PROVIDER'>

/** Returns true if this installation has the diagnostic endpoint at all. */
export const isAvailable = (config: ProviderConfig): boolean =>
  config.PLATFORM_SELF_HOSTED && AVAILABLE[config.PLATFORM_PROVIDER]

/** Describes what is wrong with the debug token, for the log at start; undefined if it is safe. */
export function tokenProblem(
  config: ProviderConfig & Pick<WebConfig, 'PLATFORM_DEBUG_TOKEN'>,
): string | undefined {
  const { PLATFORM_DEBUG_TOKEN: token = '' } = config
  if (!isAvailable(config) || token.length >= TOKEN_LENGTH_SAFE) return undefined
  return token === ''
    ? 'PLATFORM_DEBUG_TOKEN is not set: only signed-in administrators reach /health/debug'
    : `PLATFORM_DEBUG_TOKEN has fewer than ${TOKEN_LENGTH_SAFE} characters and may be guessed. ` +
        'Set a longer one, or none and let the chart generate it'
}

/**
 * True when a browser started this request from a page of another site. Such a request never starts
 * a run: it would carry the session of somebody who does not know of it.
 */
export const isCrossSite = (c: Context): boolean =>
  !['same-origin', 'none', undefined].includes(c.req.header('sec-fetch-site'))

/** The right by which a caller gets the report. */
export type Identity = 'token' | 'administrator'

/**
 * Identifies the caller: the holder of the debug token, or a platform administrator with a live
 * session (SPEC 5.1). Undefined for anybody else. Never rejects.
 */
export async function identify<Env extends { Bindings: Partial<HttpBindings> }>(
  c: Context<Env>,
  deps: WebDeps,
): Promise<Identity | undefined> {
  const { PLATFORM_DEBUG_TOKEN: expected = '' } = deps.config
  // Compared also when there is nothing to compare, so that the time tells nothing.
  const isToken = isSame(singleHeader(c, 'x-platform-debug-token') ?? '', expected)
  if (isToken && expected !== '') return 'token'
  return (await isAdministrator(c, deps)) ? 'administrator' : undefined
}

/** Asks the database; while it is unavailable, the administrators that this pod saw lately. */
async function isAdministrator(c: Context, deps: WebDeps): Promise<boolean> {
  const { sql, config, seenAdministrators } = deps
  const token = sessionToken(c, config)
  if (!token) return false
  try {
    const isLive = await inTime(() => hasLiveRole(sql, token, 'platform-admin'))
    if (!isLive) seenAdministrators.forget(token)
    return isLive
  } catch {
    return seenAdministrators.find(token) !== undefined
  }
}

/**
 * Finds the session of an administrator for the page of the report, by the same rule. Never
 * rejects.
 */
export async function findAdministrator(c: Context, deps: WebDeps): Promise<Session | undefined> {
  const session = await inTime(() => readSession(c, deps)).catch(() =>
    deps.seenAdministrators.find(sessionToken(c, deps.config) ?? ''),
  )
  return session?.user.roles.includes('platform-admin') ? session : undefined
}

const inTime = <Result>(read: () => Promise<Result>): Promise<Result> =>
  deadline({ name: 'session', timeoutMs: SESSION_TIMEOUT_MS }, read)
