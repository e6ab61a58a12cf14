import type { Hono } from 'hono'
import * as v from 'valibot'
import { writeAudit } from '../../../platform/audit/audit.ts'
import { createOwnAutomation } from '../../../platform/crews/own-crews.ts'
import { checkResources } from '../../../platform/crews/crew-resources.ts'
import { checkReach, reachRulesOf } from '../../../platform/crews/crew-reach.ts'
import { findAutomation, listAutomations } from '../../../platform/automations/automations.ts'
import { listCrewDeployments } from '../../../platform/crews/crew-deployments.ts'
import { changeSettings, crewSettingsFields } from '../../../platform/crews/crew-settings-fields.ts'
import type { CrewSettingsFields } from '../../../platform/crews/crew-settings-fields.ts'
import type { CrewSettings } from '../../../platform/crews/crew-settings.ts'
import {
  getAutomationLife,
  removeAutomation,
  startAutomation,
  stopAutomation,
} from '../../../platform/crews/automation-life.ts'
import {
  findCrewSettings,
  restartCrew,
  saveCrewSettings,
} from '../../../platform/crews/crew-settings.ts'
import { projectNameProblem } from '../../../platform/projects/projects.ts'
import { AppError } from '../../../shared/errors.ts'
import { inTransaction } from '../../../shared/postgres/database.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { OrganizationCall, WebDeps } from '../../context.ts'
import { createApi } from '../api-room.ts'
import { getAutomation } from '../designer/get-automation.ts'
import { readUuidPage } from '../designer/requests.ts'
import type { WebConfig } from '../../env.ts'
import { checked } from '../../http/parse-body.ts'
import { deploymentRoutes } from './deployment-routes.ts'
import { crewDocument } from './documents.ts'
import { getOwnCrew, readBodyAs } from './own-crew.ts'
import { recordChange } from './record-change.ts'
import { repositoryRoutes } from './repository-routes.ts'
import { variableRoutes } from './variable-routes.ts'

const nameBody = v.strictObject({ name: checked(projectNameProblem) })
const ACTIONS = [
  ['stop', 'crew_stopped', stopAutomation],
  ['start', 'crew_started', startAutomation],
] as const

/** Automations that are made from sources: their settings, deployments, logs and variables. */
export function crewRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  const path = '/automations/:automationId'

  api.get('viewer', path, async (c) => {
    const automation = await getAutomation(c, sql)
    return c.json(await readCrew(sql, automation.automationId))
  })

  api.delete('admin', path, async (c) => {
    const automation = await getAutomation(c, sql)
    await recordChange({ sql, ...c.var }, automation, {
      action: 'automation_removed',
      change: (tx) => removeAutomation(tx, automation),
    })
    return c.json(await readCrew(sql, automation.automationId), 202)
  })

  api.patch('editor', `${path}/settings`, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const given = await readBodyAs(c, crewSettingsFields)
    const settings = changeSettings(crew.settings, given)
    checkChange(settings, given, deps.config)
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_settings_changed',
      change: (tx) => saveCrewSettings(tx, crew, settings),
      after: given,
    })
    return c.json(await readCrew(sql, crew.automation.automationId))
  })

  const routes = api.routes()
  routes.route('/', listRoutes(deps))
  routes.route('/', actionRoutes(deps))
  routes.route('/', deploymentRoutes(deps))
  routes.route('/', variableRoutes(deps))
  routes.route('/', repositoryRoutes(deps))
  return routes
}

/** The automations of an organization, and new ones that are to be made from a source. */
function listRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)

  api.get('viewer', '/automations', async (c) => {
    const { limit, cursor: after } = readUuidPage(c)
    const page = await listAutomations(sql, c.var.caller.organizationId, { limit, after })
    const automations = page.items.map(({ automationId: automation_id, name, slug, status }) => ({
      automation_id,
      name,
      slug,
      status,
    }))
    return c.json({ automations, next_cursor: page.next ?? null })
  })
  api.post('editor', '/automations', async (c) => {
    const { organizationId } = c.var.caller
    const { name } = await readBodyAs(c, nameBody)
    const { actor, wide } = c.var
    const automation = await inTransaction(sql, async (tx) => {
      const made = await createOwnAutomation(tx, { organizationId, name })
      await writeAudit(tx, actor, {
        action: 'automation_created',
        target: { kind: 'automation', id: made.automationId, name },
      })
      return made
    })
    Object.assign(wide, { audit: 'automation_created', automation_id: automation.automationId })
    return c.json(await readCrew(sql, automation.automationId), 201, {
      location: `/designer/v2/automations/${automation.automationId}`,
    })
  })
  return api.routes()
}

/** Raises `unprocessable` for what the operator does not allow; a list that stays is not asked. */
function checkChange(
  settings: CrewSettings,
  { egress = [] }: CrewSettingsFields,
  config: WebConfig,
): void {
  checkResources(settings, config)
  checkReach(egress, reachRulesOf(config))
}

/** What is done to an automation as it is; only crews from source have processes to restart. */
function actionRoutes(deps: WebDeps): Hono<OrganizationCall> {
  const { sql } = deps
  const api = createApi(deps)
  for (const [verb, action, act] of ACTIONS) {
    const path = `/automations/:automationId/${verb}`
    api.post('editor', path, async (c) => {
      const automation = await getAutomation(c, sql)
      await recordChange({ sql, ...c.var }, automation, {
        action,
        change: (tx) => act(tx, automation),
      })
      return c.json(await readCrew(sql, automation.automationId), 202)
    })
  }
  const restart = '/automations/:automationId/restart'
  api.post('editor', restart, async (c) => {
    const crew = await getOwnCrew(c, sql)
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_restarted',
      change: (tx) => restartCrew(tx, crew),
    })
    return c.json(await readCrew(sql, crew.automation.automationId), 202)
  })
  return api.routes()
}

/** The automation as it is now. */
async function readCrew(sql: Database, automationId: string) {
  const automation = await findAutomation(sql, automationId)
  if (!automation) throw new AppError('not_found', 'Your organization has no such automation.')
  const settings = await findCrewSettings(sql, automation.id)
  const life = await getAutomationLife(sql, automation)
  const [newest] = await listCrewDeployments(sql, { deploymentId: automation.id }, { limit: 1 })
  return crewDocument({ automation, life, settings, newest })
}
