import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { findAutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import { findAutomation } from '../../../platform/automations/automations.ts'
import { explainToken } from '../../gate/access-token/explain-token.ts'
import type { OpenedGate } from '../../gate/access-token/open-gate.ts'
import { testConfiguration } from '../../gate/access-token/test-configuration.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { oauthSettings, readTyped } from '../../nouns/oauth-settings.ts'
import { takeForm } from '../../gate/callers/forms.ts'
import { resourcePage } from '../../resources/page-routes.ts'
import { OAUTH_PATH } from '../frame/addresses.ts'
import { createRoom } from '../frame/room.ts'
import { explainSection, readPasted } from '../frame/explain-section.ts'
import type { ForAutomation } from '../frame/explain-section.ts'
import { testSection } from './setup-sections.ts'

const ONE = `${OAUTH_PATH}/:oauthSettingId`

/** Tries settings without saving them, and explains tokens, on the page of the settings. */
export function oauthSettingsRoutes(
  deps: WebDeps,
  { keys, guard }: Pick<OpenedGate, 'keys' | 'guard'>,
): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {
    'oauth-setting-saved-off':
      'The settings are saved. OAuth is off: tick “Accept access tokens” and save to turn it ' +
      'on.',
  })
  const show = oauthSettings.read(resourcePage(deps))

  async function belowOf(c: Context<SignedIn>, explained?: ForAutomation) {
    const { session } = c.var
    if (!(await findAutomationOauth(sql, session.user.organizationId))) return html``
    const path = `${OAUTH_PATH}/${session.user.organizationId}`
    return explainSection(sql, { session, path }, explained)
  }

  for (const path of ['/settings', '/settings/organization/oauth']) {
    room.page('viewer', path, (c) => c.redirect(OAUTH_PATH, 303))
  }

  room.form('admin', `${ONE}/test`, async (c) => {
    const typed = c.var.form
    const explain = await belowOf(c)
    const settings = await takeForm(async () => readTyped(deps, typed))
    if (typeof settings === 'string') {
      return show(c, { below: () => explain }, { typed, problem: settings })
    }
    const { organizationId } = c.var.session.user
    const test = await testConfiguration(settings, { guard, organizationId })
    const below = () => html`${testSection(test)} ${explain}`
    return show(c, { below }, { typed, problem: undefined })
  })

  room.form('admin', `${ONE}/explain`, async (c) => {
    const explained = await explain(c, deps, keys)
    const section = await belowOf(c, explained)
    if ('problem' in explained) c.status(422)
    return show(c, { below: () => section })
  })

  return room.routes
}

async function explain(
  c: Context<SignedIn>,
  { sql }: WebDeps,
  keys: OpenedGate['keys'],
): Promise<ForAutomation> {
  const { organizationId } = c.var.session.user
  const automationId = (c.var.form.get('automation_id') ?? '').trim()
  const automation = await findAutomation(sql, automationId)
  if (automation?.organizationId !== organizationId)
    return { automationId, problem: 'Choose one of your automations.' }
  const settings = await findAutomationOauth(sql, organizationId)
  if (!settings) return { automationId, problem: 'Save the settings first.' }
  const token = readPasted(c.var.form)
  if (token === undefined) return { automationId, problem: 'Paste one access token.' }
  const context = { organizationId, settings, boundClient: automation.oauthClientId }
  const explanation = await explainToken(token, context, { keys, now: Date.now })
  return { automationId, explanation }
}
