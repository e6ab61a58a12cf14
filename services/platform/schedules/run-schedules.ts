import { AppError } from '../../shared/errors.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { getAutomationLife } from '../crews/automation-life.ts'
import { automationColumns, getDefinition } from '../automations/automations.ts'
import type { Automation } from '../automations/automations.ts'
import { prepareInputs } from '../runs/prepare-inputs.ts'
import type { QueueRoom } from '../runs/queue-room.ts'
import { kickoff } from '../runs/runs.ts'
import type { Starter } from '../runs/runs.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { nextTimes } from './schedule-times.ts'
import { scheduleColumns } from './schedules.ts'
import type { Schedule } from './schedules.ts'

/** A time that is later than this was missed. */
const MISSED_AFTER_MS = 5 * 60_000
const STARTED_MAX = 100
const PROBLEM_MAX = 1000

interface ScheduleTurn {
  /** @default the time of the database */
  readonly at?: Date | null
  /** Keeps the queue of an organization within its limit. */
  readonly queue?: QueueRoom | undefined
}

/** Holds while the time of a schedule has come. */
export const hasDueSchedules = (sql: Queryable) => sql`
  exists (select from schedules where next_at <= now())`

/**
 * Starts the runs whose time has come, at most 100. A run and the step to the next time are one
 * transaction, in which nobody else has the schedule: however many workers there are and whenever
 * one is killed, each time starts one run. Returns how many times came.
 */
export async function runDueSchedules(sql: Database, turn: ScheduleTurn = {}): Promise<number> {
  for (let came = 0; came < STARTED_MAX; came += 1) {
    const hasCome = await sql.begin((tx) => runNext(tx, turn))
    if (!hasCome) return came
  }
  return STARTED_MAX
}

async function runNext(tx: Transaction, { at = null, queue }: ScheduleTurn): Promise<boolean> {
  const [due] = await tx<(Schedule & { nextAt: Date; now: Date })[]>`
    select ${scheduleColumns(tx)}, coalesce(${at}::timestamptz, now()) as now from schedules
    where next_at <= coalesce(${at}::timestamptz, now())
    order by next_at, id limit 1 for update skip locked`
  if (!due) return false
  const { now, ...schedule } = due
  const isMissed = now.getTime() - due.nextAt.getTime() > MISSED_AFTER_MS
  const outcome = isMissed && due.missed === 'skip' ? {} : await start(tx, schedule, queue)
  // Times that are only a little late come one after the other; missed ones are passed over.
  const [next] = nextTimes(schedule, isMissed ? now : due.nextAt, 1)
  const { runId = null, problem = null } = outcome
  await tx`
    update schedules set next_at = ${next ?? null}, last_at = ${due.nextAt},
      last_run_id = coalesce(${runId}::uuid, last_run_id), last_problem = ${problem}
    where id = ${schedule.id}`
  return true
}

interface Outcome {
  readonly runId?: string
  readonly problem?: string
}

/** A schedule that cannot start, such as with inputs that a new version does not take, says why. */
async function start(
  tx: Transaction,
  schedule: Schedule,
  queue: QueueRoom | undefined,
): Promise<Outcome> {
  const { id, name } = schedule
  const starter = { trigger: 'schedule', id: `schedule:${id}`, name } as const
  try {
    const run = { ...schedule, starter }
    return { runId: await tx.savepoint((point) => startUnattended(point, run, queue)) }
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return { problem: thrown.message.slice(0, PROBLEM_MAX) }
  }
}

interface Unattended {
  readonly deploymentId: number
  readonly inputs: Inputs
  readonly starter: Starter
}

/**
 * Starts a run that no caller waits for, such as that of a schedule or an event. Raises `conflict`
 * while the automation is stopped, and what `prepareInputs` and `kickoff` raise.
 */
export async function startUnattended(
  sql: Queryable,
  { deploymentId, inputs: given, starter }: Unattended,
  queue: QueueRoom | undefined,
): Promise<string> {
  const [automation] = await sql<[Automation]>`
    select ${automationColumns(sql)} from deployments where id = ${deploymentId}`
  const { stoppedAt } = await getAutomationLife(sql, automation)
  // They would fill the queue of the organization.
  if (stoppedAt) throw new AppError('conflict', 'The automation is stopped: no run was started.')
  const definition = await getDefinition(sql, automation)
  const prepared = await prepareInputs(sql, { automation, definition, inputs: given })
  const admit = queue?.of(automation.organizationId)
  return kickoff(sql, { deploymentId, ...prepared, starter, admit })
}
