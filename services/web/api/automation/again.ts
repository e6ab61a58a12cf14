import type { Context } from 'hono'
import { STEP_KINDS } from '../../../platform/crew-contract/step-key.ts'
import { startFork, startRerun, startRetry } from '../../../platform/runs/run-again.ts'
import { listSteps } from '../../../platform/runs/run-steps.ts'
import type { ListedStep } from '../../../platform/runs/run-steps.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { AuthorizedCall } from '../../context.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import { getRun } from './get-run.ts'
import * as s from '../openapi/parts.ts'
import { failure, usage } from '../openapi/run-schemas.ts'
import { noKickoff, reading, starting } from './api-route.ts'
import { badKickoff, started, startedRun } from './kickoff.ts'
import { forkBody, readIdempotencyKey, rerunBody, retryBody } from './kickoff-request.ts'

const GOES_ON = 'The run is in progress'
const NO_STEP = 'The run has no such step (details.tasks), a key is unknown'

/** Describes a call that starts a run which follows another one. */
const following = (operationId: string, summary: string, options: Parameters<typeof starting>[2]) =>
  starting(operationId, summary, {
    parameters: [s.idempotencyKey],
    ...started,
    ...noKickoff,
    ...badKickoff,
    ...options,
  })

/** Goes on where a run failed or was stopped, or before a step. */
export const retryRoute: ApiRoute = {
  method: 'POST',
  path: '/runs/:kickoffId/retry',
  operation: following('retryRun', 'Continue where a run failed or was stopped', {
    description:
      'A new run of the same version and inputs, which keeps the finished steps: all of them, or ' +
      'those that finished and do not depend on `from_step`.',
    body: retryBody,
    409: `${GOES_ON}, or is completed and no from_step is named.`,
    422: `${NO_STEP}, or the Idempotency-Key was used for another request.`,
  }),
  async answer(c, deps) {
    const { from_step: fromStep } = await retryBody.read(c)
    return startedRun(c, deps, await startRetry(deps.sql, { ...(await again(c, deps)), fromStep }))
  },
}

/** Runs the version of a run with other inputs, all of it or from a step on. */
export const forkRoute: ApiRoute = {
  method: 'POST',
  path: '/runs/:kickoffId/fork',
  operation: following('forkRun', 'Run with changed inputs, all of it or from a step on', {
    description:
      'A new run of the same version with other inputs. Without `from_step` it does every step; ' +
      'with it, it keeps those that finished and do not depend on that one, although other ' +
      'inputs led to them.',
    body: forkBody,
    409: `${GOES_ON}.`,
    422: `${NO_STEP}, or the inputs are refused as those of a kickoff are.`,
  }),
  async answer(c, deps) {
    const { inputs, from_step: fromStep } = await forkBody.read(c)
    const fork = { ...(await again(c, deps)), inputs, fromStep }
    return startedRun(c, deps, await startFork(deps.sql, fork))
  },
}

/** Runs the version of now with the inputs of a run. */
export const rerunRoute: ApiRoute = {
  method: 'POST',
  path: '/runs/:kickoffId/rerun',
  operation: following('rerunRun', 'Run again from the start', {
    description: 'A new run with the same inputs, of the version that the automation has now.',
    body: rerunBody,
    422: 'The version of now does not take these inputs.',
  }),
  async answer(c, deps) {
    await rerunBody.read(c)
    return startedRun(c, deps, await startRerun(deps.sql, await again(c, deps)))
  },
}

const stepDocument = s.document(
  'Step',
  {
    step: s.say(s.text, 'Its key: the same in each attempt.'),
    kind: s.words(STEP_KINDS),
    name: s.say(s.text, 'The key of the task, the name of the model or of the tool.'),
    path: { ...s.list(s.text), examples: [['research', 'researcher', 'llm', '0']] },
    parent: s.say(s.perhapsText, 'The step that it is a part of.'),
    state: s.say(s.words(['started', 'finished', 'failed']), 'What finished is not repeated.'),
    attempt: s.say(s.integer, 'The last that did it; 0: kept from the run that this one follows.'),
    usage,
    error: failure,
    started_at: s.moment,
    ended_at: s.perhapsMoment,
  },
  ({ key: step, ...row }: ListedStep) => ({ ...row, step }),
)
const steps = s.document('Steps', { kickoff_id: s.uuid, steps: s.list(stepDocument) })

/** Lists the steps of a run. */
export const stepsRoute: ApiRoute = {
  method: 'GET',
  path: '/runs/:kickoffId/steps',
  operation: reading('steps', 'List the steps of a run', {
    description: 'Tasks, model calls and tool calls, in the order in which they began first.',
    200: ['The steps.', steps],
    ...noKickoff,
  }),
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    return c.json({ kickoff_id: id, steps: (await listSteps(sql, id)).map(stepDocument.of) })
  },
}

async function again(c: Context<AuthorizedCall>, { sql, queue }: ApiRouteDeps) {
  const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
  const starter = toStarter(c.var.actor, 'api')
  const { automation } = c.var
  const admit = queue.of(automation.organizationId)
  return { automation, run: await getRun(c, sql), idempotencyKey, starter, admit }
}
