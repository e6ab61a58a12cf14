import { setTimeout as sleep } from 'node:timers/promises'
import type { HandedConnections } from '../../platform/connections/handed-connections.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { getConnectionToken } from '../../shared/oauth-service.ts'
import type { OauthServiceAccess } from '../../shared/oauth-service.ts'
import type { Log } from '../../shared/log.ts'
import { toHanded } from './resolve-connections.ts'
import type { ResolvedConnections } from './resolve-connections.ts'

/** The OAuth service hands out a new token 5 min before the end, or in the last quarter. */
const EARLY_MS = 240_000
const RETRY_MS = 15_000
/** A timer of Node takes no longer. */
const SLEEP_MS_MAX = 2_147_483_647

interface RenewalDeps {
  readonly oauth?: OauthServiceAccess | undefined
  readonly log: Log
}

/** Creates what keeps the tokens of a run good, once its crew takes lines. */
export const keepTokens =
  (
    { oauth, log }: RenewalDeps,
    { id: runId }: Pick<LeasedRun, 'id'>,
    resolved: ResolvedConnections,
  ) =>
  (tell: (line: object) => void, signal: AbortSignal): void => {
    if (!oauth) return
    const hand = (connections: HandedConnections): void => tell({ connections })
    void renewTokens({ ...resolved, oauth, log, runId, tell: hand, signal })
  }

/** The tokens of a run that goes on, and the way to tell its crew. */
interface Renewal extends ResolvedConnections {
  readonly oauth: OauthServiceAccess
  readonly log: Log
  readonly runId: string
  /** Hands tokens to the crew in place of former ones. */
  readonly tell: (connections: HandedConnections) => void
  readonly signal: AbortSignal
}

/**
 * Hands the crew of a run another token before one ends, until the signal aborts. Never raises: a
 * token that cannot be renewed is reported, and the tools that need it then tell the model.
 */
async function renewTokens(renewal: Renewal): Promise<void> {
  const names = Object.keys(renewal.connections)
  await Promise.all(names.map((name) => renewOne(renewal, name)))
}

async function renewOne(renewal: Renewal, name: string): Promise<void> {
  const { connections, signal, tell } = renewal
  let token = connections[name]
  try {
    while (token?.expires_at !== undefined) {
      await sleep(waitMsFor(token.expires_at), undefined, { signal })
      const renewed = await renewToken(renewal, name)
      if (renewed === 'ended') return
      if (renewed && renewed.access_token !== token.access_token) tell({ [name]: renewed })
      // The same one: its renewal failed, or it is not yet due by the clock of the database.
      if (renewed?.access_token === token.access_token || !renewed) {
        await sleep(RETRY_MS, undefined, { signal })
      }
      token = renewed ?? token
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown
  }
}

/** Returns the time until a token is to be replaced. */
function waitMsFor(expiresAt: string, now = Date.now()): number {
  const leftMs = Math.max(0, Date.parse(expiresAt) - now)
  return Math.min(leftMs - Math.min(EARLY_MS, leftMs / 5), SLEEP_MS_MAX)
}

async function renewToken(
  { oauth, ids, log, runId, signal }: Renewal,
  name: string,
): Promise<HandedConnections[string] | 'ended' | undefined> {
  const connectionId = ids[name] ?? ''
  try {
    return toHanded(await getConnectionToken(oauth, { connectionId, runId, signal }))
  } catch (thrown) {
    signal.throwIfAborted()
    const facts = { kickoff_id: runId, connection_id: connectionId }
    log.warn({ ...facts, error: toError(thrown).message }, 'the token could not be renewed')
    const isOver = thrown instanceof AppError && ['conflict', 'not_found'].includes(thrown.code)
    return isOver ? 'ended' : undefined
  }
}
