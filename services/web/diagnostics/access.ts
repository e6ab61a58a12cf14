import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { hasLiveRole } from '../../platform/sessions.ts'
import { deadline } from '../../shared/deadline.ts'
import { singleHeader } from '../../shared/single-header.ts'
import { cookieNames } from '../auth/cookies.ts'
import { isSame } from '../auth/forms.ts'
import type { WebDeps } from '../context.ts'
import type { PROVIDERS, WebConfig } from '../env.ts'

/** A shorter token is no secret: it opens nothing. */
const TOKEN_LENGTH_MIN = 32
const SESSION_TIMEOUT_MS = 2000

/** SPEC 4.1: which kinds of deployment have the endpoint. */
const AVAILABLE: Readonly<Record<(typeof PROVIDERS)[number], boolean>> = {
  kubernetes: true,
  managed_kubernetes: true,
  serverless: false,
  local: false,
}

type Deployment = Pick<WebConfig, 'PLATFORM_SELF_HOSTED' | 'PLATFORM_PROVIDER'>

/** Whether this deployment has the diagnostic endpoint at all. */
export const isAvailable = (config: Deployment): boolean =>
  config.PLATFORM_SELF_HOSTED && AVAILABLE[config.PLATFORM_PROVIDER]

/** Why the header token of a deployment opens nothing, for the log at start; undefined when it does. */
export function tokenProblem(
  config: Deployment & Pick<WebConfig, 'PLATFORM_DEBUG_TOKEN'>,
): string | undefined {
  const { PLATFORM_DEBUG_TOKEN: token = '' } = config
  if (!isAvailable(config) || token.length >= TOKEN_LENGTH_MIN) return undefined
  return token === ''
    ? 'PLATFORM_DEBUG_TOKEN is not set: only signed-in administrators reach /health/debug'
    : `PLATFORM_DEBUG_TOKEN has fewer than ${TOKEN_LENGTH_MIN} characters and opens nothing`
}

/**
 * Whether a browser started this request from a page of another site. Such a request never starts a run: it would
 * carry the session of somebody who does not know of it.
 */
export const isCrossSite = (c: Context): boolean =>
  !['same-origin', 'none', undefined].includes(c.req.header('sec-fetch-site'))

/** How a caller may have the report. */
export type Identity = 'token' | 'administrator'

/** Who calls: the holder of the debug token, or the live session of a platform administrator (SPEC 5.1). Never rejects. */
export async function identify<Env extends { Bindings: Partial<HttpBindings> }>(
  c: Context<Env>,
  deps: WebDeps,
): Promise<Identity | undefined> {
  const { PLATFORM_DEBUG_TOKEN: expected = '' } = deps.config
  // Compared also when there is nothing to compare, so that the time tells nothing.
  const isToken = isSame(singleHeader(c, 'x-platform-debug-token') ?? '', expected)
  if (isToken && expected.length >= TOKEN_LENGTH_MIN) return 'token'
  return (await isAdministrator(c, deps)) ? 'administrator' : undefined
}

async function isAdministrator(c: Context, { sql, config }: WebDeps): Promise<boolean> {
  const token = getCookie(c, cookieNames(config.PLATFORM_BASE_URL).session)
  if (!token) return false
  try {
    return await deadline({ name: 'session', timeoutMs: SESSION_TIMEOUT_MS }, () =>
      hasLiveRole(sql, token, 'platform-admin'),
    )
  } catch {
    // Without the database nobody is an administrator; the token still works.
    return false
  }
}
