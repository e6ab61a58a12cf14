import * as v from 'valibot'
import { DECISIONS } from '../../../platform/approvals/approval-decisions.ts'
import { ANSWER_CHARACTERS_MAX, decideApproval } from '../../../platform/runs/run-approvals.ts'
import { findBudgetStop, resumeStopped } from '../../../platform/budgets/budget-stops.ts'
import { closedObject, describeIssue } from '../../../shared/describe-issue.ts'
import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { runEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { Acting } from '../../gate/callers/audited.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { ApiRoute } from './api-route.ts'
import { getRun } from './get-run.ts'
import { STATES } from './run-status.ts'

const BODY_BYTES_MAX = 256 * 1024

const request = v.pipe(
  closedObject({
    task: v.pipe(v.string('must be a text'), v.minLength(1, 'must not be empty')),
    /** The id of the call of a tool that is decided about. */
    call: v.optional(v.string('must be a text')),
    decision: v.picklist(DECISIONS, `must be one of ${DECISIONS.join(', ')}`),
    text: v.optional(
      v.pipe(
        v.string('must be a text'),
        v.maxLength(ANSWER_CHARACTERS_MAX, `must have at most ${ANSWER_CHARACTERS_MAX} characters`),
      ),
    ),
  }),
  v.forward(
    v.partialCheck(
      [['decision'], ['text']],
      ({ decision, text }) => decision !== 'edit' || text !== undefined,
      'is required to edit',
    ),
    ['text'],
  ),
)

/**
 * Lets a run go on that waits: with a decision about the output of a task or about a call, or with
 * an empty object for a run that waits for a budget.
 */
export const resumeRoute: ApiRoute = {
  method: 'POST',
  path: '/resume/:kickoffId',
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    const body = await readJson(c.req.raw, BODY_BYTES_MAX)
    await resumeRun(c.var, sql, { deploymentId: c.var.automation.id, id, body })
    return c.json({ kickoff_id: id, status: 'queued', state: STATES.queued })
  },
}

interface Resumed {
  readonly deploymentId: number
  readonly id: string
  readonly body: unknown
}

/** Lets a run of an automation continue, as a body says. Raises as `decideApproval` does. */
export async function resumeRun(
  acting: Acting,
  sql: Database,
  { deploymentId, id, body }: Resumed,
): Promise<void> {
  const audited = createAudited(sql)
  if (isEmpty(body) && (await findBudgetStop(sql, id))) {
    const entry = runEntry('budget_stop_resumed', id)
    return audited(acting, (tx) => resumeStopped(tx, { runId: id }), entry)
  }
  const read = v.safeParse(request, body)
  if (!read.success) {
    const problems = read.issues.map((issue) => describeIssue(issue, 'body'))
    throw new AppError('unprocessable', `The decision is not valid: ${problems.join('; ')}.`, {
      details: { problems },
    })
  }
  const { task, call, decision, text } = read.output
  const asked = { deploymentId, runId: id, task, call, decision, text }
  const entry = runEntry('approval_decided', id, { task, call, decision })
  await audited(acting, (tx) => decideApproval(tx, asked), entry)
}

const isEmpty = (body: unknown): boolean => isObject(body) && Object.keys(body).length === 0
