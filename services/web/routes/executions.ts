import { createHash } from 'node:crypto'
import { Hono } from 'hono'
import { requiredInputs } from '../../platform/crew-definition.ts'
import { getDefinition, isUuid } from '../../platform/deployments.ts'
import { kickoff, stopExecution } from '../../platform/executions.ts'
import { listProgress } from '../../platform/progress.ts'
import { requireForm } from '../auth/forms.ts'
import { requireSession } from '../auth/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import { getOwnAutomation, getOwnExecution } from '../own-automation.ts'
import { automationPage } from '../views/automation-page.ts'
import { executionPage } from '../views/execution-page.ts'
import { noticeOf } from '../views/notices.ts'
import { readAutomationPage } from './automations.ts'

const PROGRESS_SHOWN = 500
const INPUT_PREFIX = 'input.'

/** The page of a run; starting and stopping one from the browser. */
export function executionRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const path = '/automations/:automationId/executions'

  routes.post(path, session, form, async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const names = requiredInputs(await getDefinition(sql, automation))
    const inputs = readInputs(c.var.form, names)
    const problem = problemOf(inputs)
    if (problem) {
      const page = await readAutomationPage(c, deps, automation)
      return c.html(automationPage({ ...page, runForm: { inputs, problem } }), 422)
    }
    const idempotencyKey = startOnceKey(c.var.form.get('start_once'), inputs)
    const id = await kickoff(sql, { deploymentId: automation.id, inputs, idempotencyKey })
    c.var.wide['kickoff_id'] = id
    return c.redirect(`/automations/${automation.automationId}/executions/${id}`, 303)
  })

  routes.get(`${path}/:kickoffId`, session, async (c) => {
    const { automation, execution } = await getOwnExecution(c, sql)
    const progress = await listProgress(sql, execution.id, PROGRESS_SHOWN)
    const notice = noticeOf(c.req.query('notice'))
    return c.html(
      executionPage({ session: c.var.session, automation, execution, progress, notice }),
    )
  })

  routes.post(`${path}/:kickoffId/stop`, session, form, async (c) => {
    const { automation, execution } = await getOwnExecution(c, sql)
    const notice = (await stopExecution(sql, execution.id)) ? 'stopped' : 'over-already'
    Object.assign(c.var.wide, { audit: 'execution_stopped', kickoff_id: execution.id })
    const page = `/automations/${automation.automationId}/executions/${execution.id}`
    return c.redirect(`${page}?notice=${notice}`, 303)
  })

  return routes
}

function readInputs(form: URLSearchParams, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, form.get(INPUT_PREFIX + name) ?? '']))
}

/** A form that is sent twice, by a double click, starts one run; one that is filled in anew starts another. */
function startOnceKey(formId: string | null, inputs: Readonly<Record<string, string>>) {
  if (!formId || !isUuid(formId)) return undefined
  const hash = createHash('sha256').update(JSON.stringify(inputs)).digest('hex')
  return `form-${formId}-${hash}`
}

function problemOf(inputs: Readonly<Record<string, string>>): string | undefined {
  const empty = Object.keys(inputs).filter((name) => !inputs[name]?.trim())
  if (empty.length > 0) return `Fill in ${empty.join(', ')}.`
  const bad = Object.keys(inputs).filter((name) => inputs[name]?.includes('\0'))
  return bad.length > 0 ? `${bad.join(', ')} holds a character that can not be stored.` : undefined
}
