import type { Hono } from 'hono'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { givenAgain } from '../../../platform/definitions/crew-inputs.ts'
import { prepareInputs } from '../../../platform/runs/prepare-inputs.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { kickoff, stopRun } from '../../../platform/runs/runs.ts'
import { runEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnRun, getOwnRunToRepeat } from '../frame/own-automation.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { createRoom } from '../frame/room.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import type { Html } from '../frame/parts.ts'
import { shortId } from '../frame/format.ts'
import { wayTo } from './crumbs.ts'

/** Repeats and stops runs from the browser. */
export function runRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    stopped: 'The run is stopped.',
    'over-already': 'The run had already ended.',
  })
  const path = '/automations/:automationId/executions/:kickoffId'

  room.form('editor', `${path}/again`, async (c) => {
    const { automation, run } = await getOwnRunToRepeat(c, sql)
    const definition = await getDefinition(sql, automation)
    const prepared = await prepareInputs(sql, {
      automation,
      definition,
      inputs: givenAgain(definition, run.inputs),
    })
    const idempotencyKey = startOnceKey(c.var.form.get('start_once'), prepared.inputs)
    const starter = toStarter(c.var.actor, 'console')
    const admit = deps.queue.of(automation.organizationId)
    const request = { deploymentId: automation.id, ...prepared, idempotencyKey, starter, admit }
    const id = await kickoff(sql, request)
    Object.assign(c.var.wide, { kickoff_id: id, again: run.id })
    return c.redirect(runPath(automation, { id }), 303)
  })

  room.page('editor', `${path}/stop`, async (c) => {
    const { automation, run } = await getOwnRun(c, sql)
    if (run.finishedAt) return c.redirect(`${runPath(automation, run)}?notice=over-already`, 303)
    return c.html(stopPage(c.var.session, automation, run))
  })

  room.form('editor', `${path}/stop`, async (c) => {
    const { automation, run } = await getOwnRun(c, sql)
    const stopped = await audited(
      c.var,
      (tx) => stopRun(tx, run.id),
      (isStopped) => (isStopped ? runEntry('run_stopped', run.id) : undefined),
    )
    c.var.wide['kickoff_id'] = run.id
    const notice = stopped ? 'stopped' : 'over-already'
    return c.redirect(`${runPath(automation, run)}?notice=${notice}`, 303)
  })

  return room.routes
}

/** The question before a run is stopped. */
function stopPage(session: Session, automation: Automation, run: Run): Html {
  const back = runPath(automation, run)
  return confirmPage({
    session,
    crumbs: [...wayTo(automation), { path: back, name: shortId(run.id) }],
    question: 'Stop this run?',
    consequence:
      'It ends without an output, and the work of its crew so far is lost. ' +
      'You can run it again with the same inputs.',
    action: `${back}/stop`,
    verb: 'Stop',
    back,
  })
}
