import { isDeepStrictEqual } from 'node:util'
import type { Hono } from 'hono'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { getVersionOf, startFork, startRetry } from '../../../platform/runs/run-again.ts'
import type { Fork } from '../../../platform/runs/run-again.ts'
import { listSteps } from '../../../platform/runs/run-steps.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnRunToRepeat } from '../frame/own-automation.ts'
import { createRunFormReader } from '../frame/run-form.ts'
import { toTexts } from '../frame/start-form.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { continuePage } from './continue-page.ts'
import { createRoom } from '../frame/room.ts'

/** Goes on from a step of a run, from the browser. */
export function continueRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const readRunForm = createRunFormReader(deps)
  const room = createRoom(deps)
  const path = '/automations/:automationId/executions/:kickoffId/continue'

  room.page('editor', path, async (c) => {
    const { automation, run } = await getOwnRunToRepeat(c, sql)
    const { definition } = await getVersionOf(sql, run.id)
    const view = { session: c.var.session, automation, run, fields: inputFields(definition) }
    const steps = await listSteps(sql, run.id)
    const fromStep = c.req.query('from_step') ?? ''
    const texts = toTexts(run.inputs)
    return c.html(continuePage({ ...view, steps, texts, fromStep, problem: undefined }))
  })

  room.upload('editor', path, async (c) => {
    const { automation, run } = await getOwnRunToRepeat(c, sql)
    const { definition } = await getVersionOf(sql, run.id)
    const { form, texts, prepared, problem } = await readRunForm(c, () => ({
      automation,
      definition,
    }))
    const { inputs } = prepared
    const fromStep = form.get('from_step') ?? ''
    const idempotencyKey = startOnceKey(form.get('start_once'), { ...texts, fromStep })
    const starter = toStarter(c.var.actor, 'console')
    const admit = deps.queue.of(automation.organizationId)
    const place = { fromStep: fromStep || undefined, starter, admit }
    const request = { automation, run, inputs, idempotencyKey, ...place }
    const started = problem === undefined ? await goOn(sql, request) : { problem }
    if ('id' in started) {
      Object.assign(c.var.wide, { kickoff_id: started.id, continues: run.id })
      return c.redirect(runPath(automation, started), 303)
    }
    const view = { session: c.var.session, automation, run, fields: inputFields(definition) }
    const steps = await listSteps(sql, run.id)
    return c.html(continuePage({ ...view, steps, texts, fromStep, ...started }), 422)
  })

  return room.routes
}

/** The same inputs make a retry; a form shows them as text, so they are compared as that. */
async function goOn(sql: Database, fork: Fork): Promise<{ id: string } | { problem: string }> {
  const isSame = isDeepStrictEqual(toTexts(fork.inputs), toTexts(fork.run.inputs))
  try {
    return { id: await (isSame ? startRetry(sql, fork) : startFork(sql, fork)) }
  } catch (thrown) {
    if (thrown instanceof AppError) return { problem: thrown.message }
    throw thrown
  }
}
