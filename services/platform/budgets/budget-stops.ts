import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import type { BudgetWarning } from './budget-ledger.ts'
import { findExhausted } from './budget-room.ts'
import type { Refusal, RunAndLease } from './budget-room.ts'

/** The code of a run that waits for a budget. */
export const BUDGET_EXCEEDED = 'budget_exceeded'
/** The type of the event that most of a budget is spent. */
const BUDGET_WARNING = 'budget_warning'
/** The runs of a budget that go on at a time. */
const RESUMED_MAX = 1000

/** Why a run waits for a budget: the refusal, and the model that was to be called. */
export interface BudgetStop extends Refusal {
  readonly model?: string | undefined
}

/** A run that waits for a budget. */
export interface StoppedRun {
  readonly stop: BudgetStop
  readonly stoppedAt: Date
}

/**
 * Lets a run wait for a budget, and gives up the lease. Returns false when the run is no longer
 * this worker's.
 */
export async function parkForBudget(
  sql: Queryable,
  { id, leaseId }: RunAndLease,
  stop: BudgetStop,
): Promise<boolean> {
  const event = { type: BUDGET_EXCEEDED, ...toWireStop(stop), message: describeStop(stop) }
  const parked = await sql`
    with parked as (
      update executions set status = 'waiting', lease_id = null, lease_expires_at = null
      where id = ${id} and lease_id = ${leaseId} returning id, attempt),
    told as (
      insert into execution_events (execution_id, attempt, position, event)
      select id, attempt, ${nextPosition(sql, id)}, ${JSON.stringify(event)}::text::jsonb
      from parked)
    insert into budget_stops (run_id, budget_id, stop)
    select id, (select id from budgets where id = ${stop.budgetId}),
      ${JSON.stringify(stop)}::text::jsonb
    from parked
    on conflict (run_id) do update set budget_id = excluded.budget_id, stopped_at = now(),
      stop = excluded.stop
    returning run_id`
  return parked.length > 0
}

const nextPosition = (sql: Queryable, runId: string) => sql`
  coalesce((
    select max(e.position) from execution_events e
    where e.execution_id = ${runId}
      and e.attempt = (select attempt from executions where id = ${runId})), -1) + 1`

/** Returns why a run waits for a budget; undefined when it does not. */
export async function findBudgetStop(
  sql: Queryable,
  runId: string,
): Promise<StoppedRun | undefined> {
  const [found] = await sql<StoppedRun[]>`
    select s.stop, s.stopped_at from budget_stops s join executions e on e.id = s.run_id
    where s.run_id = ${runId} and e.status = 'waiting'`
  return found
}

/**
 * Lets a run go on that waits for a budget. Raises `conflict` when it does not wait for one, and
 * when there is still no room for the call at which it stopped.
 */
export async function resumeStopped(
  sql: Queryable,
  { runId, at }: { readonly runId: string; readonly at?: Date | undefined },
): Promise<void> {
  await inTransaction(sql, async (tx) => {
    const [run] = await tx<{ status: string }[]>`
      select status from executions where id = ${runId} for no key update`
    const found = run?.status === 'waiting' ? await findBudgetStop(tx, runId) : undefined
    if (!found) {
      throw new AppError(
        'conflict',
        `The run does not wait for a budget: it is ${run?.status ?? 'deleted'}.`,
        { details: { status: run?.status } },
      )
    }
    const asked = found.stop
    const refusal = await findExhausted(tx, { id: runId, leaseId: null }, { asked, at })
    if (refusal) {
      const still = { ...refusal, model: asked.model }
      throw new AppError('conflict', `The run cannot continue yet. ${describeStop(still)}`, {
        details: { code: BUDGET_EXCEEDED, ...toWireStop(still) },
      })
    }
    await goOn(tx, runId)
  })
}

/**
 * Lets the runs go on that wait for a budget, the first 1,000; those for which there is no room
 * yet will wait again. Returns how many.
 */
export async function resumeAllStopped(
  sql: Queryable,
  { organizationId, budgetId }: { readonly organizationId: number; readonly budgetId: number },
): Promise<number> {
  return inTransaction(sql, async (tx) => {
    const runs = await tx<{ id: string }[]>`
      select e.id from budget_stops s join executions e on e.id = s.run_id
      where s.budget_id = ${budgetId} and e.organization_id = ${organizationId}
        and e.status = 'waiting'
      order by s.stopped_at, e.id limit ${RESUMED_MAX} for no key update of e skip locked`
    for (const { id } of runs) await goOn(tx, id)
    return runs.length
  })
}

async function goOn(tx: Transaction, runId: string): Promise<void> {
  await tx`delete from budget_stops where run_id = ${runId}`
  await tx`
    insert into execution_events (execution_id, attempt, position, event)
    select id, attempt, ${nextPosition(tx, runId)}, '{"type": "budget_resumed"}'
    from executions where id = ${runId}`
  await tx`update executions set status = 'queued', available_at = now() where id = ${runId}`
  await tx`select call_workers()`
}

/** The event by which people hear that most of a budget is spent. */
export function toWarningEvent({ budgetId: _id, isOfAutomation, ...warning }: BudgetWarning) {
  const { period, of, tokensMax, spentTokens, usdMax, spentUsd } = warning
  const budget = isOfAutomation ? 'automation' : 'organization'
  const limits = { tokens_max: tokensMax, spent_tokens: spentTokens }
  return {
    type: BUDGET_WARNING,
    budget,
    period,
    of,
    ...limits,
    usd_max: usdMax,
    spent_usd: spentUsd,
    message: `80 % of the budget of the ${budget} for ${PERIODS[period](of)} is spent.`,
  }
}

/** The facts of a stop, as the API shows them. */
export function toWireStop({ budgetId: _id, isOfAutomation, model, ...stop }: BudgetStop) {
  const budget = isOfAutomation ? 'automation' : 'organization'
  return { budget, ...stop, model: model ?? null }
}

const UNITS = { tokens: 'tokens', usd: 'dollars', price: 'dollars' } as const
const PERIODS = {
  run: () => 'one run',
  day: (of: string) => `the day ${of} (UTC)`,
  month: (of: string) => `the month ${of} (UTC)`,
} as const
const LATER = {
  run: '',
  day: ', or wait for the next day',
  month: ', or wait for the next month',
} as const

/** Says which budget is in the way, how much of it is used, and what to do. */
export function describeStop({ isOfAutomation, period, of, model, ...stop }: BudgetStop): string {
  const owner = isOfAutomation ? 'automation' : 'organization'
  const budget = `The budget of the ${owner} for ${PERIODS[period](of)}`
  const { limit, max, spent, reserved, asked } = stop
  if (limit === 'price') {
    return (
      `${budget} limits money, and the model ${model ?? 'of the run'} has no price. Add its ` +
      'price under Budgets, or let the budget count such calls as free, and resume the run.'
    )
  }
  const call = asked > 0 ? ` The next call may need ${amount(asked)} ${UNITS[limit]}.` : ''
  return (
    `${budget} has no room: of ${amount(max ?? 0)} ${UNITS[limit]}, ${amount(spent)} are spent ` +
    `and ${amount(reserved)} reserved for calls in flight.${call} Raise the limit` +
    `${LATER[period]}, and resume the run.`
  )
}

const amounts = new Intl.NumberFormat('en', { maximumFractionDigits: 12 })

/** Without the noise of binary fractions. */
const amount = (value: number): string => amounts.format(Number(value.toPrecision(12)))
