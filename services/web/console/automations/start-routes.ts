import type { Hono } from 'hono'
import { createRoom } from '../frame/room.ts'
import { getDefinition } from '../../../platform/automations/automations.ts'
import { toStarter } from '../../gate/callers/starter.ts'
import { kickoff } from '../../../platform/runs/runs.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { runPath } from '../frame/addresses.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { startOnceKey } from '../frame/start-once.ts'
import { automationPage } from './page.ts'
import type { ReadAutomationPage } from './read-page.ts'
import { createRunFormReader } from '../frame/run-form.ts'

/** Starts a run with the form of an automation's page. */
export function startRoutes(deps: WebDeps, readPage: ReadAutomationPage): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const readRunForm = createRunFormReader(deps)
  const path = '/automations/:automationId/executions'

  room.upload('editor', path, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const definition = await getDefinition(sql, automation)
    const { form, texts, prepared, problem } = await readRunForm(c, () => ({
      automation,
      definition,
    }))
    if (problem !== undefined) {
      const page = await readPage(c, automation)
      const startForm = { inputs: texts, problem }
      return c.html(automationPage({ ...page, startForm }), 422)
    }
    const idempotencyKey = startOnceKey(form.get('start_once'), texts)
    const starter = toStarter(c.var.actor, 'console')
    const admit = deps.queue.of(automation.organizationId)
    const request = { deploymentId: automation.id, ...prepared, idempotencyKey, starter, admit }
    const id = await kickoff(sql, request)
    c.var.wide['kickoff_id'] = id
    return c.redirect(runPath(automation, { id }), 303)
  })

  return room.routes
}
