import { Hono } from 'hono'
import { resolveInputs } from '../../platform/crew-inputs.ts'
import { getDefinition } from '../../platform/deployments.ts'
import { kickoff, stopExecution } from '../../platform/executions.ts'
import { requireForm } from '../auth/forms.ts'
import { requireSession } from '../auth/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import { getOwnAutomation, getOwnExecution } from '../own-automation.ts'
import { readRun, startOnceKey } from '../run-form.ts'
import { automationPage } from '../views/automation-page.ts'
import { executionPath } from '../views/execution-page.ts'
import { stopPage } from '../views/stop-page.ts'
import { readAutomationPage } from './automations.ts'

/** Starting, repeating and stopping runs from the browser. */
export function executionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const path = '/automations/:automationId/executions'

  routes.post(path, session, form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const { texts, inputs, problem } = readRun(c.var.form, await getDefinition(sql, automation))
    if (problem !== undefined) {
      const page = await readAutomationPage(c, deps, automation)
      const runForm = { inputs: texts, problem }
      return c.html(automationPage({ ...page, runForm }), 422)
    }
    const idempotencyKey = startOnceKey(c.var.form.get('start_once'), texts)
    const id = await kickoff(sql, { deploymentId: automation.id, inputs, idempotencyKey })
    c.var.wide['kickoff_id'] = id
    return c.redirect(executionPath(automation, { id }), 303)
  })

  routes.post(`${path}/:kickoffId/again`, session, form, async (c) => {
    const { automation, execution } = await getOwnExecution(c, sql)
    const inputs = resolveInputs(await getDefinition(sql, automation), execution.inputs)
    const idempotencyKey = startOnceKey(c.var.form.get('start_once'), inputs)
    const id = await kickoff(sql, { deploymentId: automation.id, inputs, idempotencyKey })
    Object.assign(c.var.wide, { kickoff_id: id, again: execution.id })
    return c.redirect(executionPath(automation, { id }), 303)
  })

  routes.get(`${path}/:kickoffId/stop`, session, async (c) => {
    const { automation, execution } = await getOwnExecution(c, sql)
    if (execution.finishedAt) {
      return c.redirect(`${executionPath(automation, execution)}?notice=over-already`, 303)
    }
    return c.html(stopPage(c.var.session, automation, execution))
  })

  routes.post(`${path}/:kickoffId/stop`, session, form, async (c) => {
    const { automation, execution } = await getOwnExecution(c, sql)
    const notice = (await stopExecution(sql, execution.id)) ? 'stopped' : 'over-already'
    Object.assign(c.var.wide, { audit: 'execution_stopped', kickoff_id: execution.id })
    return c.redirect(`${executionPath(automation, execution)}?notice=${notice}`, 303)
  })

  return routes
}
