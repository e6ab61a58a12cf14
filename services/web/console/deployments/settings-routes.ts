import type { Hono } from 'hono'
import { deployAgain } from '../../../platform/crews/crew-deployments.ts'
import { checkReach, reachRulesOf } from '../../../platform/crews/crew-reach.ts'
import { checkResources } from '../../../platform/crews/crew-resources.ts'
import { changeSettings } from '../../../platform/crews/crew-settings-fields.ts'
import type { CrewSettings } from '../../../platform/crews/crew-settings.ts'
import { saveCrewSettings } from '../../../platform/crews/crew-settings.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { WebConfig } from '../../env.ts'
import { recordChange } from '../../api/crews/record-change.ts'
import { automationPath, deploymentPath, getOwnCrew } from './own-crew.ts'
import { managedBox } from '../../managed/marks.ts'
import { readSettingsForm, toTyped } from './settings-form.ts'
import type { TypedSettings } from './settings-form.ts'
import { settingsPage } from './settings-page.ts'
import { createRoom } from '../frame/room.ts'

/** Serves the page with the settings of a crew. */
export function settingsRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps, {
    'crew-saved':
      'The settings are saved. Processes and sleep apply at once, the others from the next ' +
      'deployment on.',
  })
  const path = '/automations/:automationId/crew-settings'

  room.page('viewer', path, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const typed = toTyped(crew.settings)
    const { session, notice } = c.var
    const managed = await managedBox('own_crew', { sql, session }, [crew.automation.automationId])
    return c.html(settingsPage({ session, crew, typed, problems: {}, managed, notice }))
  })

  room.form('editor', path, async (c) => {
    const crew = await getOwnCrew(c, sql)
    const { typed, fields, problems } = readSettingsForm(c.var.form)
    const settings = fields && changeSettings(crew.settings, fields)
    const tooMuch = settings && findExcess(settings, config)
    if (!settings || tooMuch) {
      const shown = { session: c.var.session, crew, typed, problems: { ...problems, ...tooMuch } }
      return c.html(settingsPage(shown), 422)
    }
    await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_settings_changed',
      change: (tx) => saveCrewSettings(tx, crew, settings),
      after: fields,
    })
    if (c.var.form.get('deploy') !== 'yes') {
      return c.redirect(`${automationPath(crew.automation)}/crew-settings?notice=crew-saved`, 303)
    }
    const deployment = await recordChange({ sql, ...c.var }, crew.automation, {
      action: 'crew_deployed',
      change: (tx) => deployAgain(tx, crew),
    })
    return c.redirect(deploymentPath(crew.automation, deployment), 303)
  })
  return room.routes
}

const FIELDS: ReadonlyMap<unknown, string> = new Map([
  ['memory', 'memory_limit'],
  ['CPU', 'cpu_limit'],
])

/** What is more than the operator allows, at its field. */
function findExcess(settings: CrewSettings, config: WebConfig): TypedSettings | undefined {
  try {
    checkResources(settings, config)
    checkReach(settings.egress, reachRulesOf(config))
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof AppError)) throw thrown
    return { [FIELDS.get(thrown.details['resource']) ?? 'egress']: thrown.message }
  }
}
