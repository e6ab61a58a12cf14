import * as v from 'valibot'
import { DECISIONS } from '../../platform/approval-decisions.ts'
import { ANSWER_CHARACTERS_MAX, decideApproval } from '../../platform/run-approvals.ts'
import { closedObject, describeIssue } from '../../shared/describe-issue.ts'
import { AppError } from '../../shared/errors.ts'
import { readJson } from '../../shared/http/json-body.ts'
import type { ApiRoute } from './api-route.ts'
import { getRun } from './get-run.ts'
import { STATES } from './run-status.ts'

const BODY_BYTES_MAX = 256 * 1024

const request = v.pipe(
  closedObject({
    task: v.pipe(v.string('must be a text'), v.minLength(1, 'must not be empty')),
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

/** Decides about the output of a task, so that a run that waits goes on. */
export const resumeRoute: ApiRoute = {
  method: 'POST',
  path: '/resume/:kickoffId',
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    const read = v.safeParse(request, await readJson(c.req.raw, BODY_BYTES_MAX))
    if (!read.success) {
      const problems = read.issues.map((issue) => describeIssue(issue, 'body'))
      throw new AppError('unprocessable', `The decision is not valid: ${problems.join('; ')}.`, {
        details: { problems },
      })
    }
    const { task, decision, text } = read.output
    await decideApproval(sql, {
      deploymentId: c.var.automation.id,
      runId: id,
      task,
      decision,
      text,
    })
    Object.assign(c.var.wide, { audit: 'approval_decided', decision })
    return c.json({ kickoff_id: id, status: 'queued', state: STATES.queued })
  },
}
