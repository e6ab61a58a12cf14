import type { Context } from 'hono'
import { startFork, startRerun, startRetry } from '../../../platform/runs/run-again.ts'
import { listSteps } from '../../../platform/runs/run-steps.ts'
import type { ListedStep } from '../../../platform/runs/run-steps.ts'
import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { AuthorizedCall } from '../../context.ts'
import type { ApiRoute, ApiRouteDeps } from './api-route.ts'
import { getRun } from './get-run.ts'
import { BODY_BYTES_MAX, startedRun } from './kickoff.ts'
import { readIdempotencyKey } from './kickoff-request.ts'

/** The most characters of a step's key. */
const STEP_CHARACTERS_MAX = 64

interface AgainBody {
  readonly inputs?: Readonly<Record<string, unknown>>
  readonly from_step?: string
}

/** Goes on where a run failed or was stopped, or before a step. */
export const retryRoute: ApiRoute = {
  method: 'POST',
  path: '/runs/:kickoffId/retry',
  async answer(c, deps) {
    const { from_step: fromStep } = await readBody(c, ['from_step'])
    return startedRun(c, deps, await startRetry(deps.sql, { ...(await again(c, deps)), fromStep }))
  },
}

/** Runs the version of a run with other inputs, all of it or from a step on. */
export const forkRoute: ApiRoute = {
  method: 'POST',
  path: '/runs/:kickoffId/fork',
  async answer(c, deps) {
    const { inputs, from_step: fromStep } = await readBody(c, ['inputs', 'from_step'])
    if (inputs === undefined) {
      throw new AppError('unprocessable', '"inputs" is an object with the inputs by name.')
    }
    const fork = { ...(await again(c, deps)), inputs, fromStep }
    return startedRun(c, deps, await startFork(deps.sql, fork))
  },
}

/** Runs the version of now with the inputs of a run. */
export const rerunRoute: ApiRoute = {
  method: 'POST',
  path: '/runs/:kickoffId/rerun',
  async answer(c, deps) {
    await readBody(c, [])
    return startedRun(c, deps, await startRerun(deps.sql, await again(c, deps)))
  },
}

/** Lists the steps of a run. */
export const stepsRoute: ApiRoute = {
  method: 'GET',
  path: '/runs/:kickoffId/steps',
  async answer(c, { sql }) {
    const { id } = await getRun(c, sql)
    return c.json({ kickoff_id: id, steps: (await listSteps(sql, id)).map(toWire) })
  },
}

const toWire = ({ key, startedAt, endedAt, ...step }: ListedStep) => ({
  step: key,
  ...step,
  started_at: startedAt,
  ended_at: endedAt,
})

async function again(c: Context<AuthorizedCall>, { sql, queue }: ApiRouteDeps) {
  const idempotencyKey = readIdempotencyKey(c.req.header('idempotency-key'))
  const starter = toStarter(c.var.actor, 'api')
  const { automation } = c.var
  const admit = queue.of(automation.organizationId)
  return { automation, run: await getRun(c, sql), idempotencyKey, starter, admit }
}

/** Raises `unprocessable`, naming stray keys. */
async function readBody(c: Context<AuthorizedCall>, keys: readonly string[]): Promise<AgainBody> {
  const body = await readJson(c.req.raw, BODY_BYTES_MAX)
  if (!isObject(body)) throw new AppError('unprocessable', 'The body is a JSON object.')
  const strayKeys = Object.keys(body).filter((key) => !keys.includes(key))
  if (strayKeys.length > 0) {
    const shown = strayKeys.map((key) => JSON.stringify(key)).join(', ')
    const known = keys.length === 0 ? 'none' : keys.map((key) => `"${key}"`).join(' and ')
    throw new AppError('unprocessable', `The body has no key ${shown}. Known: ${known}.`, {
      details: { stray_keys: strayKeys },
    })
  }
  const { inputs, from_step } = body
  if (from_step !== undefined && !isStepName(from_step)) {
    throw new AppError('unprocessable', '"from_step" is the key of a step or of a task.')
  }
  if (inputs !== undefined && !isObject(inputs)) {
    throw new AppError('unprocessable', '"inputs" is an object with the inputs by name.')
  }
  return { ...(inputs && { inputs }), ...(from_step !== undefined && { from_step }) }
}

const isStepName = (value: unknown): value is string =>
  typeof value === 'string' && value.length >= 1 && value.length <= STEP_CHARACTERS_MAX
