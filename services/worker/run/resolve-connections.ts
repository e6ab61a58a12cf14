import { setTimeout as sleep } from 'node:timers/promises'
import { findNamedConnections } from '../../platform/connections/oauth-connections.ts'
import type { HandedConnections } from '../../platform/connections/handed-connections.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { RunFailure } from '../../platform/runs/run-errors.ts'
import { outsideFailure, toolsOutside } from '../../platform/connections/regions.ts'
import type { AllowedRegions } from '../../platform/connections/regions.ts'
import { connectedTools, misdirection } from '../../platform/connections/tool-connections.ts'
import type { ConnectedTool } from '../../platform/connections/tool-connections.ts'
import { backoffMs } from '../../shared/backoff.ts'
import { AppError } from '../../shared/errors.ts'
import { getConnectionToken } from '../../shared/oauth-service.ts'
import type { ConnectionToken, OauthServiceAccess } from '../../shared/oauth-service.ts'
import type { Database } from '../../shared/postgres/database.ts'

const BACKOFF = { firstMs: 500, maxMs: 5000 }

/** The OAuth service, and the patience with it. */
export interface ConnectionDeps {
  readonly sql: Database
  /** undefined: this platform has no OAuth service. */
  readonly oauth?: OauthServiceAccess | undefined
  /** The time in which a provider or the OAuth service that is in trouble is asked again. */
  readonly crewPatienceMs: number
}

/** The tokens for the tools of a run, with the ids of their connections. */
export interface ResolvedConnections {
  readonly connections: HandedConnections
  readonly ids: Readonly<Record<string, string>>
}

/** A run, and the regions in which the data of its organization stays. */
type Connecting = Pick<LeasedRun, 'id' | 'organizationId' | 'definition'> & {
  readonly allowedRegions: AllowedRegions
}

type Resolved = ResolvedConnections | { readonly failure: RunFailure }

/**
 * Returns fresh access tokens of the connections that the tools of a run's version name, and of no
 * others. A connection that cannot be used fails the run, with what to do about it, and so does a
 * tool outside of the regions of its organization. Raises the
 * reason of the signal, and the errors of the database.
 */
export async function resolveConnections(
  deps: ConnectionDeps,
  run: Connecting,
  signal: AbortSignal,
): Promise<Resolved> {
  const uses = connectedTools(run.definition.tools)
  const names = [...new Set(uses.map(({ connection }) => connection))]
  const found = await findNamedConnections(deps.sql, run.organizationId, names)
  const missing = uses.find((use) => !found.some(({ name }) => name === use.connection))
  if (missing) return { failure: notThere(missing) }
  const outside = toolsOutside(run.allowedRegions, run.definition.tools, found)
  if (outside.length > 0) return { failure: outsideFailure(run.allowedRegions, outside) }
  const results = await Promise.all(
    found.map(async ({ id, name }) => ({
      id,
      name,
      token: await tokenOf(deps, { connectionId: id, runId: run.id, signal }),
    })),
  )
  for (const { name, token } of results) {
    if (token instanceof AppError) return { failure: unusable(name, token) }
    const wrong = uses
      .filter(({ connection }) => connection === name)
      .map((use) => misdirection(use, token.hosts))
      .find((each) => each !== undefined)
    if (wrong !== undefined) return { failure: misdirected(wrong) }
  }
  const tokens = results.flatMap(({ id, name, token }) =>
    token instanceof AppError ? [] : [{ id, name, token }],
  )
  return {
    connections: Object.fromEntries(tokens.map(({ name, token }) => [name, toHanded(token)])),
    ids: Object.fromEntries(tokens.map(({ name, id }) => [name, id])),
  }
}

/** Returns a token as the crew gets it. */
export function toHanded(token: ConnectionToken): HandedConnections[string] {
  const { access_token, expires_at, header, prefix } = token
  const end = expires_at === null ? {} : { expires_at }
  const isUsual = header === 'authorization' && prefix === 'Bearer'
  return { access_token, ...end, ...(isUsual ? {} : { header, prefix }) }
}

/** Trouble of a provider may pass; a connection that a person has to look at does not. */
const PASSING: readonly string[] = ['unavailable', 'timeout', 'bad_gateway']

interface Asked {
  readonly connectionId: string
  readonly runId: string
  readonly signal: AbortSignal
}

async function tokenOf(
  { oauth, crewPatienceMs }: ConnectionDeps,
  asked: Asked,
): Promise<ConnectionToken | AppError> {
  if (!oauth) return noService()
  const { signal } = asked
  const started = performance.now()
  for (let tries = 1; ; tries += 1) {
    try {
      return await getConnectionToken(oauth, asked)
    } catch (thrown) {
      signal.throwIfAborted()
      if (!(thrown instanceof AppError)) throw thrown
      const waitMs = backoffMs(tries, BACKOFF)
      const isOver = performance.now() - started + waitMs > crewPatienceMs
      if (!PASSING.includes(thrown.code) || isFinal(thrown) || isOver) return thrown
      await sleep(waitMs, undefined, { signal })
    }
  }
}

/** A client that the provider refuses stays refused until somebody changes it. */
const isFinal = ({ details }: AppError): boolean =>
  details['code'] === 'provider_client_refused' || details['problem'] === 'private_address'

const noService = (): AppError =>
  new AppError(
    'conflict',
    'this platform has no OAuth service, which keeps the tokens of connections. The operator ' +
      'deploys it with oauth.enabled, and sets PLATFORM_OAUTH_API_BASE_URL and ' +
      'PLATFORM_OAUTH_API_KEY for the worker',
    { details: { code: 'no_oauth_service' } },
  )

const notThere = ({ tool, connection }: ConnectedTool): RunFailure => ({
  code: 'connection_missing',
  message:
    `The tool ${tool} needs the connection ${connection}, which your organization does not have. ` +
    'Create and connect it on the page Connections, and retry this run; or take it out of the ' +
    'tool and publish a new version.',
})

function unusable(name: string, { code, message, details }: AppError): RunFailure {
  if (details['code'] === 'needs_authorization') {
    return {
      code: 'connection_not_connected',
      message:
        `The connection ${name} is not connected: ${REASONS[String(details.reason)] ?? message} ` +
        'Connect it on the page Connections, and retry this run.',
    }
  }
  const isPassing = PASSING.includes(code)
  return {
    code: isPassing ? 'connection_unavailable' : 'connection_unusable',
    message:
      `The connection ${name} gives no token: ${message.replace(/\.$/, '')}. ` +
      'Test it on the page Connections, and retry this run.',
  }
}

const REASONS: Readonly<Record<string, string>> = {
  not_authorized: 'it is not connected yet.',
  refresh_refused: 'its provider no longer accepts the authorization.',
  no_refresh_token: 'its token has ended, and its provider issued none to renew it.',
  revoked: 'it was revoked.',
}

const misdirected = (why: string): RunFailure => ({
  code: 'connection_not_for_address',
  message: `${why.charAt(0).toUpperCase()}${why.slice(1)}.`,
})
