import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { CALLS_DEEP_MAX } from '../automations/automation-tools.ts'
import { findStartable } from '../automations/startable-automations.ts'
import { excerpt } from '../crew-contract/event-text.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { prepareInputs } from './prepare-inputs.ts'
import { answerStep } from './answer-step.ts'
import type { Lease, LeasedRun } from './run-queue.ts'
import { kickoff } from './runs.ts'
import type { Failure, RunStatus } from './runs.ts'

/** As much as a model is shown of the result of any tool. */
const RESULT_CHARACTERS_MAX = 32_768
const SETTLED_MAX = 100

/** What a tool of a run asks for: a run of another automation. */
export interface RunRequest {
  /** The key of the step that waits for it. */
  readonly step: string
  /** The slug of the automation. */
  readonly automation: string
  readonly inputs: Inputs
}

/** A run, and those that wait for it, itself first. */
interface Member {
  readonly id: string
  readonly deploymentId: number
  readonly organizationId: number
}

/**
 * Starts the run that a tool of another one asks for, and lets that one wait without a worker. What
 * cannot be started is the answer of the tool. Returns false when the run is no longer this
 * worker's.
 */
export async function callAutomation(
  sql: Queryable,
  { id, leaseId, definition }: Lease & Pick<LeasedRun, 'definition'>,
  request: RunRequest,
): Promise<boolean> {
  const { step } = request
  return inTransaction(sql, async (tx) => {
    const parked = await tx`
      update executions set status = 'waiting', lease_id = null, lease_expires_at = null
      where id = ${id} and lease_id = ${leaseId} returning id`
    if (parked.length === 0) return false
    try {
      requireNamed(definition, request)
      const called = await startCalled(tx, id, request)
      await tx`
        insert into run_calls ${tx({ callerId: id, stepKey: step, calledId: called })}
        on conflict (caller_id, step_key) do update
          set called_id = excluded.called_id, called_at = now(), settled_at = null`
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      await answerStep(tx, { runId: id, stepKey: step, result: failed(thrown.message) })
    }
    return true
  })
}

/** A crew calls what its version names, and nothing else. */
function requireNamed({ tools = {} }: CrewDefinition, { automation }: RunRequest): void {
  const isNamed = Object.values(tools).some(
    (tool) => tool.type === 'automation' && tool.automation === automation,
  )
  if (isNamed) return
  throw new AppError('forbidden', `The version of this run has no tool for ${automation}.`)
}

async function startCalled(
  tx: Transaction,
  callerId: string,
  { automation: slug, inputs: given }: RunRequest,
): Promise<string> {
  const family = await tx<Member[]>`select * from run_family(${callerId})`
  const [caller] = family
  const organizationId = caller?.organizationId ?? 0
  const reach = { organizationId, deploymentId: null, clientId: null }
  const automation = await findStartable(tx, reach, slug)
  if (!automation) {
    throw new AppError('not_found', `There is no automation ${slug} in this organization.`)
  }
  if (family.some(({ deploymentId }) => deploymentId === automation.id)) {
    throw new AppError(
      'conflict',
      `The automation ${slug} waits for this run, directly or by others: it cannot be started.`,
    )
  }
  if (family.length >= CALLS_DEEP_MAX) {
    throw new AppError('conflict', `At most ${CALLS_DEEP_MAX} runs may wait for each other.`)
  }
  const { definition } = automation
  const prepared = await prepareInputs(tx, { automation, definition, inputs: given })
  const name = `Run ${callerId.slice(0, 8)}`
  const starter = { trigger: 'run', id: `run:${callerId}`, name } as const
  return kickoff(tx, { deploymentId: automation.id, ...prepared, starter })
}

const failed = (text: string) => ({ text, isError: true })

interface Ended {
  readonly callerId: string
  readonly stepKey: string
  readonly calledId: string | null
  readonly status: RunStatus | null
  readonly output: string | null
  readonly error: Failure | null
}

/** The condition, in SQL, under which a run waits for another one that has ended. */
export const hasEndedCalls = (sql: Queryable) => sql`
  exists (select from run_calls c join executions p on p.id = c.caller_id
      left join executions e on e.id = c.called_id
    where c.settled_at is null and p.status = 'waiting'
      and (c.called_id is null or e.finished_at is not null))`

/** Lets runs continue that waited for others which have ended. Returns how many, at most 100. */
export async function settleCalledRuns(sql: Database): Promise<number> {
  return sql.begin(async (tx) => {
    const ended = await tx<Ended[]>`
      select c.caller_id, c.step_key, c.called_id, e.status, e.output, e.error
      from run_calls c join executions p on p.id = c.caller_id
        left join executions e on e.id = c.called_id
      where c.settled_at is null and p.status = 'waiting'
        and (c.called_id is null or e.finished_at is not null)
      order by c.called_at limit ${SETTLED_MAX} for no key update of p skip locked`
    for (const each of ended) {
      const { callerId: runId, stepKey, calledId } = each
      await tx`
        update run_calls set settled_at = now()
        where caller_id = ${runId} and step_key = ${stepKey}`
      const facts = calledId === null ? {} : { called_run: calledId }
      await answerStep(tx, { runId, stepKey, result: resultOf(each), facts })
    }
    return ended.length
  })
}

function resultOf({ status, output, error }: Ended) {
  if (status === 'completed') {
    return { text: excerpt(output ?? '', RESULT_CHARACTERS_MAX), isError: false }
  }
  if (status === 'error') return failed(`The automation failed: ${error?.message ?? ''}`)
  return failed(status === null ? 'The run was deleted.' : 'The run was stopped.')
}

/** A run that was started by a tool of another one, or that started it. */
export interface LinkedRun {
  readonly id: string
  readonly automationId: string
  readonly automationName: string
  readonly status: RunStatus
  readonly isCaller: boolean
}

const LINKED_MAX = 100

/** Returns the run that started a run by a tool, and the newest of those that it started itself. */
export const listLinkedRuns = (sql: Queryable, runId: string): Promise<LinkedRun[]> => sql<
  LinkedRun[]
>`
  select e.id, d.automation_id, d.name as automation_name, e.status,
    c.called_id is not null as is_caller
  from (
    (select caller_id as id, called_id, called_at from run_calls where called_id = ${runId})
    union all
    (select called_id, null, called_at from run_calls where caller_id = ${runId}
      order by called_at desc limit ${LINKED_MAX})) c
    join executions e on e.id = c.id join deployments d on d.id = e.deployment_id
  order by is_caller desc, c.called_at desc`
