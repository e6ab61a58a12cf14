import { inTransaction } from '../../shared/postgres/database.ts'
import type { Database, Queryable, Transaction } from '../../shared/postgres/database.ts'
import { AppError } from '../../shared/errors.ts'
import { isObject } from '../../shared/is-object.ts'
import { problemsUnder } from '../../shared/json-schema.ts'
import { PLATFORM, writeAudit } from '../audit/audit.ts'
import { DECIDE_WITHIN_MINUTES, describeMinutes } from '../approvals/approval-decisions.ts'
import type { ApprovalTerms, Decision } from '../approvals/approval-decisions.ts'
import type { ApprovalRequest, ProposedCall } from '../crew-contract/approval-request.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import { isUuid } from '../automations/automations.ts'
import { requestDigest } from '../crew-contract/step-request.ts'
import { answerStep } from './answer-step.ts'
import type { Lease } from './run-queue.ts'

/** The longest answer, in characters. */
export const ANSWER_CHARACTERS_MAX = 100_000
const LIST_MAX = 100
/** Longer inputs, in characters as JSON, and longer outputs are on the page of the run. */
const SHOWN_MAX = 20_000
const TASKS_SHOWN_MAX = 10
const EXPIRED_MAX = 100

/** The call of a tool that a person is asked about. */
export interface AskedCall extends ProposedCall {
  /** Of its step and its arguments: a decision names it, so that it is about no other call. */
  readonly id: string
}

/** A run that waits for a person. */
export interface Approval {
  readonly runId: string
  readonly task: string
  /** What the task would put out, or the arguments of the call, as JSON. */
  readonly proposed: string
  readonly call: AskedCall | null
  readonly askedAt: Date
  readonly decideBy: Date
  /** The decision that counts then. */
  readonly undecided: 'approve' | 'reject'
}

/**
 * Lets a run wait for a person, and gives up the lease: nobody holds it meanwhile. Returns false
 * when the run is no longer this worker's.
 */
export async function parkRun(
  sql: Queryable,
  { id, leaseId }: Lease,
  { step, task, output, call, ...terms }: ApprovalRequest & ApprovalTerms,
): Promise<boolean> {
  const { withinMinutes = DECIDE_WITHIN_MINUTES, undecided = 'reject' } = terms
  // Nobody can agree to a question in advance.
  const otherwise = call?.question ? 'reject' : undecided
  const asked = call ? JSON.stringify({ ...call, id: requestDigest({ step, output }) }) : null
  const parked = await sql`
    with parked as (
      update executions set status = 'waiting', lease_id = null, lease_expires_at = null
      where id = ${id} and lease_id = ${leaseId} returning id)
    insert into run_approvals (run_id, step_key, task, proposed, call, decide_by, undecided)
    select id, ${step}, ${task}, ${output}, ${asked}::text::json,
      now() + make_interval(mins => ${withinMinutes}),
      ${otherwise}
    from parked
    on conflict (run_id, step_key) do update set proposed = excluded.proposed, call = excluded.call,
      asked_at = now(), decide_by = excluded.decide_by,
      undecided = excluded.undecided, decision = null, answer = null,
      decided_at = null, decided_by = null
    returning run_id`
  return parked.length > 0
}

/** Returns what a run asks at the moment; undefined when it does not wait. */
export async function findApproval(sql: Queryable, runId: string): Promise<Approval | undefined> {
  const [found] = await sql<Approval[]>`
    select a.run_id, a.task, a.proposed, a.call, a.asked_at, a.decide_by, a.undecided
    from run_approvals a join executions e on e.id = a.run_id
    where a.run_id = ${runId} and e.status = 'waiting' and a.decision is null
    order by a.asked_at limit 1`
  return found
}

/** An approval in the list of an organization. */
export interface ListedApproval extends Approval {
  readonly automationId: string
  readonly automationName: string
  /** Those of the run; null where they are too long for a list. */
  readonly inputs: Inputs | null
  /** The last tasks that finished before, in their order. */
  readonly done: readonly { readonly task: string; readonly output: string }[]
}

/** Returns what waits for the people of an organization, the most urgent first; at most 100. */
export const listApprovals = (sql: Queryable, organizationId: number): Promise<ListedApproval[]> =>
  sql<ListedApproval[]>`
    select a.run_id, a.task, a.proposed, a.call, a.asked_at, a.decide_by, a.undecided,
      d.automation_id, d.name as automation_name,
      case when length(e.inputs::text) <= ${SHOWN_MAX} then e.inputs end as inputs, done.done
    from executions e join run_approvals a on a.run_id = e.id
      join deployments d on d.id = e.deployment_id
      cross join lateral (
        select coalesce(json_agg(json_build_object('task', name, 'output', output)
          order by position), '[]') as done
        from (
          select name, position, left(result ->> 'output', ${SHOWN_MAX}) as output from run_steps
          where run_id = e.id and kind = 'task' and state = 'finished'
          order by position desc limit ${TASKS_SHOWN_MAX}) newest
        where output is not null) done
    where e.organization_id = ${organizationId} and e.status = 'waiting' and a.decision is null
    order by a.decide_by, a.run_id limit ${LIST_MAX}`

interface ApprovalDecision {
  readonly deploymentId: number
  readonly runId: string
  readonly task: string
  /** The id of the call that is decided about. @default the output of the task is */
  readonly call?: string | undefined
  readonly decision: Decision
  /** What the task puts out instead, the arguments instead as JSON, or why it is rejected. */
  readonly text: string | undefined
  /** Absent: a program decided. */
  readonly userId?: number | undefined
}

interface Known extends Pick<Approval, 'call' | 'proposed'> {
  readonly stepKey: string
  readonly decision: Decision | null
  readonly decidedAt: Date | null
}

/**
 * Decides about a task or a call, and lets its run go on. Raises `not_found` for a run of another
 * automation and for what was not asked, `conflict` for what was decided or has ended meanwhile,
 * and `unprocessable` for a text that cannot be stored and arguments that the tool does not take.
 */
export async function decideApproval(sql: Queryable, asked: ApprovalDecision): Promise<void> {
  const { deploymentId, runId, task, call = null, text = '' } = asked
  if (`${task}${text}`.includes('\0')) {
    throw new AppError('unprocessable', 'The decision has the character U+0000. Leave it out.')
  }
  await inTransaction(sql, async (tx) => {
    const [run] = isUuid(runId)
      ? await tx<{ status: string }[]>`
          select status from executions
          where id = ${runId} and deployment_id = ${deploymentId} for no key update`
      : []
    if (!run) throw new AppError('not_found', 'This automation has no such kickoff.')
    const [known] = await tx<Known[]>`
      select step_key, decision, decided_at, call, proposed from run_approvals
      where run_id = ${runId} and task = ${task} and call ->> 'id' is not distinct from ${call}
      order by asked_at desc limit 1`
    if (!known) {
      throw new AppError(
        'not_found',
        call === null
          ? `The run asks nothing about a task ${JSON.stringify(task)}. Its status names the task.`
          : 'The run does not ask about this call. Its status has the id of the call.',
      )
    }
    if (known.decision !== null) throw alreadyDecided(known)
    if (run.status !== 'waiting') {
      throw new AppError('conflict', `The run does not wait any more: it is ${run.status}.`, {
        details: { status: run.status },
      })
    }
    if (known.call) requireArguments(known.call, asked)
    await settle(tx, known, asked)
  })
}

/** Refuses what its tool would not take from a model either. */
function requireArguments(
  { name, parameters, question }: ProposedCall,
  { decision, text = '' }: Pick<ApprovalDecision, 'decision' | 'text'>,
): void {
  if (decision === 'reject' || (decision === 'approve' && !question)) return
  const given = decision === 'edit' ? parse(text) : undefined
  const problems = isObject(given)
    ? problemsUnder(parameters, given)
    : [`They must be a JSON object${question ? ', in an edit; or decline by reject' : ''}.`]
  if (problems.length === 0) return
  throw new AppError(
    'unprocessable',
    `The ${question ? 'answers to' : 'arguments of'} ${name} are not valid: ${problems.join(' ')}`,
    { details: { problems } },
  )
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const alreadyDecided = ({ decision, decidedAt }: Known): AppError =>
  new AppError(
    'conflict',
    `This was decided already: ${decision}, at ${decidedAt?.toISOString() ?? 'an unknown time'}.`,
    { details: { decision } },
  )

/** The step gets the answer as its result, so that a new attempt goes on behind it. */
async function settle(
  tx: Transaction,
  { stepKey, call, proposed }: Pick<Known, 'stepKey' | 'call' | 'proposed'>,
  { runId, task, decision, text, userId }: Omit<ApprovalDecision, 'deploymentId'>,
): Promise<void> {
  const answer = text ?? null
  await tx`
    update run_approvals set decision = ${decision}, answer = ${answer}, decided_at = now(),
      decided_by = ${userId ?? null}
    where run_id = ${runId} and step_key = ${stepKey}`
  // The arguments that are approved are those that are sent.
  const about = call ? { proposed } : {}
  const result = { decision, ...(text === undefined ? {} : { text }), ...about }
  const event = { type: 'approval_decided', task, decision, ...(call ? { name: call.name } : {}) }
  await answerStep(tx, { runId, stepKey, result, event })
}

interface Expired extends Pick<Known, 'stepKey' | 'call' | 'proposed'> {
  readonly runId: string
  readonly task: string
  readonly organizationId: number
  readonly undecided: Approval['undecided']
  readonly minutes: number
}

/** Holds while a run waits for a decision whose time is over. */
export const hasExpiredApprovals = (sql: Queryable) => sql`
  exists (select from run_approvals a join executions e on e.id = a.run_id
    where a.decision is null and a.decide_by < now() and e.status = 'waiting')`

/** Decides as it was agreed what nobody decided in time. Returns how many. */
export async function expireApprovals(sql: Database): Promise<number> {
  return sql.begin(async (tx) => {
    const expired = await tx<Expired[]>`
      select a.run_id, a.step_key, a.task, a.call, a.proposed, a.undecided, e.organization_id,
        round(extract(epoch from a.decide_by - a.asked_at) / 60)::int as minutes
      from run_approvals a join executions e on e.id = a.run_id
      where a.decision is null and a.decide_by < now() and e.status = 'waiting'
      order by a.decide_by limit ${EXPIRED_MAX} for no key update of e skip locked`
    for (const { runId, task, organizationId, undecided, minutes, ...asked } of expired) {
      const text = `There was no decision within ${describeMinutes(minutes)}.`
      await settle(tx, asked, { runId, task, decision: undecided, text })
      const after = { task, decision: undecided, reason: text }
      const entry = { organizationId, target: { kind: 'run', id: runId }, after }
      await writeAudit(tx, PLATFORM, { action: 'approval_expired', ...entry })
    }
    return expired.length
  })
}
