import { parkForBudget } from '../../platform/budgets/budget-stops.ts'
import type { ApprovalTerms } from '../../platform/approvals/approval-decisions.ts'
import type { ApprovalRequest } from '../../platform/crew-contract/approval-request.ts'
import { callAutomation } from '../../platform/runs/called-runs.ts'
import { parkRun } from '../../platform/runs/run-approvals.ts'
import { completeRun, failRun, releaseRun, retryRun } from '../../platform/runs/run-queue.ts'
import type { LeasedRun } from '../../platform/runs/run-queue.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { deadline } from '../../shared/deadline.ts'
import { toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Ending, Outcome } from './ending.ts'
import { retryStatement } from './retry-statement.ts'

/** The time for storing an ending; a draining worker has less. */
const SETTLE_MS = 120_000
const DRAINING_SETTLE_MS = 3000
const RETRY_DELAY_SECONDS = 2

/**
 * Stores the ending of a run, and with it gives up the lease. Returns `revoked` when nothing was
 * stored: the lease was no longer this worker's, or the database stayed unavailable.
 */
export async function settleRun(
  { sql, log }: { readonly sql: Database; readonly log: Log },
  run: LeasedRun,
  { ending, pause }: { readonly ending: Ending; readonly pause: AbortSignal },
): Promise<Outcome> {
  const forMs = pause.aborted ? DRAINING_SETTLE_MS : SETTLE_MS
  try {
    const isStored = await deadline({ name: 'The database', timeoutMs: forMs }, (signal) =>
      retryStatement(() => store(sql, run, ending), { forMs, signal }),
    )
    return isStored ? ending.outcome : 'revoked'
  } catch (thrown) {
    // The lease runs out, and another worker takes over the run.
    log.error({ err: toError(thrown), kickoff_id: run.id }, 'result could not be stored')
    return 'revoked'
  }
}

/** What the version says of the decision; crews from source have no tasks that it knows. */
function termsOf({ definition }: LeasedRun, { task, call }: ApprovalRequest): ApprovalTerms {
  const terms = call
    ? definition.tools?.[call.tool]
    : definition.tasks.find(({ key }) => key === task)
  return { withinMinutes: terms?.decide_within_minutes, undecided: terms?.undecided }
}

async function store(sql: Database, run: LeasedRun, ending: Ending): Promise<boolean> {
  switch (ending.outcome) {
    case 'completed':
      return completeRun(sql, run, ending)
    case 'error':
      return failRun(sql, run, ending.failure)
    case 'retried':
      return retryRun(sql, run, RETRY_DELAY_SECONDS)
    case 'released':
      return releaseRun(sql, run, ending.delaySeconds)
    case 'waiting':
      if ('call' in ending) return callAutomation(sql, run, ending.call)
      return 'budget' in ending
        ? parkForBudget(sql, run, ending.budget)
        : parkRun(sql, run, { ...ending.approval, ...termsOf(run, ending.approval) })
    case 'revoked':
      return false
  }
}
