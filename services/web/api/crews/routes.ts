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
import { AppError } from '../../../shared/errors.ts'
import { inTransaction } from '../../../shared/postgres/database.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { WebDeps } from '../../context.ts'
import type { ApiRoom } from '../api-room.ts'
import { getAutomation } from '../designer/get-automation.ts'
import { nameBody, paged, readUuidPage } from '../designer/requests.ts'
import { jsonBody } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import type { WebConfig } from '../../env.ts'
import { deploymentRoutes } from './deployment-routes.ts'
import { automationSummary, crewDocument, settingsFields } from './documents.ts'
import { BODY_BYTES_MAX, changing, getOwnCrew, operation } from './own-crew.ts'
import { recordChange } from './record-change.ts'
import { repositoryRoutes } from './repository-routes.ts'
import { variableRoutes } from './variable-routes.ts'

const newCrew = jsonBody('CrewRequest', nameBody, {
  example: { name: 'Research' },
  bytesMax: BODY_BYTES_MAX,
})
const settingsBody = jsonBody('CrewSettingsRequest', crewSettingsFields, {
  example: { replicas: 2, memory_limit: '1Gi' },
  description: 'Fields that are left out stay as they are.',
  bytesMax: BODY_BYTES_MAX,
  more: { properties: settingsFields },
})
const automations = s.named('Automations', s.page('automations', automationSummary))

const list = operation('listAutomations', 'The automations of the organization, by name', {
  ...paged,
  200: automations,
})
const create = changing('createCrew', 'Create an automation that is to be made from a source', {
  body: newCrew,
  201: ['It is created, without a crew.', crewDocument, s.location('Where it is.')],
})
const get = operation('getCrew', 'An automation that is made from a source', { 200: crewDocument })
const remove = changing('deleteCrew', 'Delete it with its crew, its runs and its sources', {
  202: crewDocument,
})
const change = changing('changeCrewSettings', 'Change the settings of a crew', {
  description:
    '`replicas` and `idle_minutes` hold at once, the others from the next deployment on.',
  body: settingsBody,
  200: ['They are saved.', crewDocument],
})
const acting = (id: string, summary: string) => changing(id, summary, { 202: crewDocument })
const restart = acting('restartCrew', 'Have new processes take the places of the crew’s own')
const stop = acting('stopCrew', 'Keep an automation offline until it is started; runs wait')
const start = acting('startCrew', 'Start an automation that was stopped')
const ACTIONS = [
  ['stop', stop, 'crew_stopped', stopAutomation],
  ['start', start, 'crew_started', startAutomation],
] as const
const PATH = '/automations/:automationId'

/** Automations that are made from sources: their settings, deployments, logs and variables. */
export function crewRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps

  api.get('viewer', [PATH, get], async (c) => {
    const automation = await getAutomation(c, sql)
    return c.json(await readCrew(sql, automation.automationId))
  })

  api.delete('admin', [PATH, remove], async (c) => {
    const automation = await getAutomation(c, sql)
    await recordChange({ sql, ...c.var }, automation, {
      action: 'automation_removed',
      change: (tx) => removeAutomation(tx, automation),
    })
    return c.json(await readCrew(sql, automation.automationId), 202)
  })

  api.patch('editor', [`${PATH}/settings`, change], async (c) => {
    const crew = await getOwnCrew(c, sql)
    const given = await settingsBody.read(c)
    const settings = changeSettings(crew.settings, given)
    checkChange(settings, given, deps.config)
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_settings_changed',
      change: (tx) => saveCrewSettings(tx, crew, settings),
      after: given,
    })
    return c.json(await readCrew(sql, crew.automation.automationId))
  })

  listRoutes(api, deps)
  actionRoutes(api, deps)
  deploymentRoutes(api, deps)
  variableRoutes(api, deps)
  repositoryRoutes(api, deps)
}

/** The automations of an organization, and new ones that are to be made from a source. */
function listRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps

  api.get('viewer', ['/automations', list], async (c) => {
    const { limit, cursor: after } = readUuidPage(c)
    const { organizationId } = c.var.caller
    const { items, next = null } = await listAutomations(sql, organizationId, { limit, after })
    return c.json({ automations: items.map(automationSummary.of), next_cursor: next })
  })
  api.post('editor', ['/automations', create], async (c) => {
    const { organizationId } = c.var.caller
    const { name } = await newCrew.read(c)
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
function actionRoutes(api: ApiRoom, deps: WebDeps): void {
  const { sql } = deps
  for (const [verb, described, action, act] of ACTIONS) {
    api.post('editor', [`${PATH}/${verb}`, described], async (c) => {
      const automation = await getAutomation(c, sql)
      await recordChange({ sql, ...c.var }, automation, {
        action,
        change: (tx) => act(tx, automation),
      })
      return c.json(await readCrew(sql, automation.automationId), 202)
    })
  }
  api.post('editor', [`${PATH}/restart`, restart], async (c) => {
    const crew = await getOwnCrew(c, sql)
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_restarted',
      change: (tx) => restartCrew(tx, crew),
    })
    return c.json(await readCrew(sql, crew.automation.automationId), 202)
  })
}

/** The automation as it is now. */
async function readCrew(sql: Database, automationId: string) {
  const automation = await findAutomation(sql, automationId)
  if (!automation) throw new AppError('not_found', 'Your organization has no such automation.')
  const settings = await findCrewSettings(sql, automation.id)
  const life = await getAutomationLife(sql, automation)
  const [newest] = await listCrewDeployments(sql, { deploymentId: automation.id }, { limit: 1 })
  return crewDocument.of({ automation, life, settings, newest })
}
