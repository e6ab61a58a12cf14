import type { Context, Hono } from 'hono'
import { findAutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import { getAutomationLife } from '../../../platform/crews/automation-life.ts'
import { getDefinition, limitConcurrency } from '../../../platform/automations/automations.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { listBudgets } from '../../../platform/budgets/budgets.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { getRunVersion } from '../../../platform/projects/project-versions.ts'
import { listWebhooks } from '../../../platform/webhooks/webhooks.ts'
import { automationUrl } from '../../api/automation/automation-urls.ts'
import { automationEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'
import { createSnippets } from './client-snippets.ts'
import { designPage } from './design-page.ts'
import { integratePage } from './integrate-page.ts'
import { settingsPage } from './settings-page.ts'
import type { SettingsPage } from './settings-page.ts'
import { createRoom } from '../frame/room.ts'

const CONCURRENCY_MAX = 1000
const CONCURRENCY_PROBLEM =
  `Enter a number between 1 and ${CONCURRENCY_MAX}, ` + 'or leave the field empty for no limit.'

/** Serves the pages behind the tabs of an automation: how to call it, its design, its settings. */
export function tabRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'limit-saved': 'The limit is saved. It applies from the next run on.',
  })
  const snippetsFor = createSnippets()

  room.page('viewer', '/automations/:automationId/integrate', async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const [definition, webhooks, oauth] = await Promise.all([
      getDefinition(sql, automation),
      listWebhooks(sql, automation.id),
      findAutomationOauth(sql, automation.organizationId),
    ])
    const apiUrl = automationUrl(config, automation.automationId)
    const view = { automation, fields: inputFields(definition), webhooks, oauth, apiUrl }
    return c.html(integratePage({ session: c.var.session, ...view, snippetsFor }))
  })

  room.page('viewer', '/automations/:automationId/design', async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const definition = await getDefinition(sql, automation)
    const version = await getRunVersion(sql, automation)
    const view = { automation, definition, version, fields: inputFields(definition) }
    return c.html(designPage({ session: c.var.session, ...view }))
  })

  const readSettings = async (
    c: Context<SignedIn>,
    automation: Automation,
  ): Promise<SettingsPage> => {
    const definition = await getDefinition(sql, automation)
    const budgets = await listBudgets(sql, { ...automation, deploymentId: automation.id })
    const view = { automation, definition, budgets, life: await getAutomationLife(sql, automation) }
    return { session: c.var.session, ...view }
  }

  room.page('viewer', '/automations/:automationId/settings', async (c) => {
    const page = await readSettings(c, await getOwnAutomation(c, sql))
    return c.html(settingsPage({ ...page, notice: c.var.notice }))
  })

  room.form('admin', '/automations/:automationId/concurrency', async (c) => {
    const automation = await getOwnAutomation(c, sql)
    const limit = readLimit(c.var.form.get('concurrency_max') ?? '')
    if (limit === undefined) {
      const page = await readSettings(c, automation)
      return c.html(settingsPage({ ...page, limitProblem: CONCURRENCY_PROBLEM }), 422)
    }
    await audited(c.var, (tx) => limitConcurrency(tx, automation, limit), {
      ...automationEntry('concurrency_limited', automation),
      before: { concurrency_max: automation.concurrencyMax },
      after: { concurrency_max: limit },
    })
    return c.redirect(`/automations/${automation.automationId}/settings?notice=limit-saved`, 303)
  })

  return room.routes
}

/** Returns the typed limit, null for no limit, and undefined for anything else. */
function readLimit(text: string): number | null | undefined {
  const typed = text.trim()
  if (typed === '') return null
  const limit = Number(typed)
  return /^\d{1,4}$/.test(typed) && limit >= 1 && limit <= CONCURRENCY_MAX ? limit : undefined
}
