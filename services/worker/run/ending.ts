import type { BudgetStop } from '../../platform/budgets/budget-stops.ts'
import type { ApprovalRequest } from '../../platform/crew-contract/approval-request.ts'
import type { RunRequest } from '../../platform/runs/called-runs.ts'
import type { RunErrorCode } from '../../platform/runs/run-errors.ts'
import type { Failure, Usage } from '../../platform/runs/runs.ts'

/**
 * The end of an attempt at a run, named by what becomes of the run. `completed` and `error`: it is
 * over. `retried`: its crew broke in the middle, nobody knows how far it came, and the attempt
 * counts as lost. `released`: it is handed over to another worker or to the next crew, and the
 * attempt does not count as lost. `waiting`: it waits for a person, a budget or another run, and
 * nobody holds it. `revoked`: it no longer belongs to this worker.
 */
export type Ending =
  | { readonly outcome: 'completed'; readonly output: string; readonly usage: Usage }
  | { readonly outcome: 'waiting'; readonly approval: ApprovalRequest }
  | { readonly outcome: 'waiting'; readonly budget: BudgetStop }
  | { readonly outcome: 'waiting'; readonly call: RunRequest }
  | { readonly outcome: 'error' | 'retried' | 'revoked'; readonly failure: Failure }
  | { readonly outcome: 'released'; readonly failure: Failure; readonly delaySeconds: number }

/** The word for an ending in logs and metrics. */
export type Outcome = Ending['outcome']

/** All outcomes, as metrics list them. */
export const OUTCOMES = [
  'completed',
  'error',
  'retried',
  'released',
  'waiting',
  'revoked',
] as const satisfies readonly Outcome[]

/** The ending of an attempt that failed for good. */
export const failed = (code: RunErrorCode, message: string): Ending => ({
  outcome: 'error',
  failure: { code, message },
})

/** The ending of an attempt whose worker stops. */
export const DRAINED: Ending = {
  outcome: 'released',
  failure: {
    code: 'worker_draining',
    message: 'The worker stopped. Another worker takes over the run.',
  },
  delaySeconds: 0,
}

/** The ending of an attempt that the database was unavailable for: the next one goes on. */
export const DATABASE_UNAVAILABLE: Ending = {
  outcome: 'released',
  failure: {
    code: 'database_unavailable',
    message: 'The database was unavailable at each attempt. Look at the logs of the workers.',
  },
  delaySeconds: 2,
}

/** The ending of an attempt that stopped after its last finished step. */
export const HANDED_OVER: Ending = {
  outcome: 'released',
  failure: {
    code: 'handed_over',
    message: 'The worker or the crew is being replaced. The run continues after its last step.',
  },
  delaySeconds: 0,
}
