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
import { oneOf, textUpTo } from '../../../shared/schemas.ts'
import type { ApiRoute } from './api-route.ts'
import { getRun } from './get-run.ts'
import { jsonBody } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { starting } from './api-route.ts'
import { STATES } from './run-status.ts'

const BODY_BYTES_MAX = 256 * 1024

const request = v.pipe(
  closedObject({
    task: v.pipe(
      v.string('must be a text'),
      v.minLength(1, 'must not be empty'),
      v.description('The key of the task that waits.'),
    ),
    call: v.optional(
      v.pipe(
        v.string('must be a text'),
        v.description('The id of the call that waits; not for an output.'),
      ),
    ),
    decision: oneOf(DECISIONS),
    text: v.optional(
      v.pipe(
        textUpTo(ANSWER_CHARACTERS_MAX),
        v.description(
          'What the task puts out instead, or the arguments of the call or the answers to its ' +
            'question as JSON, which `edit` needs; or why it is rejected.',
        ),
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

const resumeBody = jsonBody('ResumeRequest', request, {
  description: 'A decision; or an empty object, for a run that waits for a budget.',
  example: { task: 'write', decision: 'approve' },
  bytesMax: BODY_BYTES_MAX,
  more: {
    required: [],
    // Generators of clients know `required` and `not`; with `anyOf` they would lose the properties.
    not: {
      anyOf: [
        { minProperties: 1, not: { required: ['task', 'decision'] } },
        {
          required: ['decision'],
          properties: { decision: { const: 'edit' } },
          not: { required: ['text'] },
        },
      ],
    },
  },
})
const resumed = s.document('Resumed', {
  kickoff_id: s.uuid,
  status: { ...s.text, const: 'queued' },
  state: { ...s.text, const: STATES.queued },
})

/**
 * Lets a run go on that waits: with a decision about the output of a task or about a call, or with
 * an empty object for a run that waits for a budget.
 */
export const resumeRoute: ApiRoute = {
  method: 'POST',
  path: '/resume/:kickoffId',
  operation: starting('resume', 'Resume a run that waits for a decision or a budget', {
    description:
      'A run waits when one of its tasks has `human_input`; its status names the task. `approve` ' +
      'takes the output as it is, `edit` takes `text` instead, `reject` ends the run with the ' +
      'error `approval_rejected`. It also waits before a call of a tool with `approve`: the ' +
      'decision names the `call`, `text` has other arguments as JSON, and the model gets to read ' +
      'why a call is rejected. A run that waits for a budget (`budget_stop` in its status) goes ' +
      'on with the body `{}` once there is room.',
    body: resumeBody,
    200: ['The run is resumed.', resumed],
    404: 'This automation has no such kickoff, or it asks nothing about this task.',
    409: 'It was decided already, the run has ended, or its budget has no room yet.',
    422: 'A field is missing, unknown or not valid, or the arguments are not.',
  }),
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
  if (isObject(body) && Object.keys(body).length === 0 && (await findBudgetStop(sql, id))) {
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
