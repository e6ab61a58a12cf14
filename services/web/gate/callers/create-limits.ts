import type { Limits } from '../../../platform/people/organization-limits.ts'
import { createQueueRoom } from '../../../platform/runs/queue-room.ts'
import type { WebDeps, WebOptions } from '../../context.ts'
import type { WebConfig } from '../../env.ts'
import { createCallLimits } from './call-limits.ts'

/** Returns the limits of organizations that have none of their own. */
export const standardLimits = (config: WebConfig): Limits => ({
  tokenCalls: config.TOKEN_CALLS_PER_MINUTE,
  organizationCalls: config.ORGANIZATION_CALLS_PER_MINUTE,
  queuedRuns: config.QUEUED_RUNS_MAX,
})

/** Creates what keeps calls and queued runs within the limits. */
export function createLimits(options: WebOptions): Pick<WebDeps, 'calls' | 'queue'> {
  const { sql, log, stopping, config, onLimited } = options
  const limits = standardLimits(config)
  const { queuedRuns } = limits
  return {
    calls: createCallLimits({ sql, log, stopping, now: Date.now, limits, onLimited }),
    queue: createQueueRoom({ queuedRuns, onRefused: () => onLimited?.('queue') }),
  }
}
