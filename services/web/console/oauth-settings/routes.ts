import type { Context, Hono } from 'hono'
import {
  findAutomationOauth,
  saveAutomationOauth,
} from '../../../platform/automations/automation-oauth.ts'
import type { AutomationOauth } from '../../../platform/automations/automation-oauth.ts'
import { findAutomation, listAutomations } from '../../../platform/automations/automations.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { addressProblem } from '../../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import { explainToken } from '../../gate/access-token/explain-token.ts'
import type { OpenedGate } from '../../gate/access-token/open-gate.ts'
import { testConfiguration } from '../../gate/access-token/test-configuration.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { defaultValues, readValues, toSettings, URL_LENGTH_MAX, valuesOf } from './form.ts'
import { noticeOf } from '../frame/notices.ts'
import { oauthSettingsPage } from './page.ts'
import { OAUTH_PATH } from '../frame/addresses.ts'
import type { ExplainedToken, OauthSettingsView } from './view.ts'
import { createRoom } from '../frame/room.ts'

const TOKEN_LENGTH_MAX = 20_000
/** With more automations than this, people enter the id rather than choose from a list. */
const AUTOMATIONS_OFFERED = 100

/** Serves Settings → Organization → OAuth 2.0 for Automations (SPEC 5.2) to any member. */
export function oauthSettingsRoutes(
  deps: WebDeps,
  { keys, guard }: Pick<OpenedGate, 'keys' | 'guard'>,
): Hono<SignedIn> {
  const { sql, config } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps)
  const privateOrigins = config.AUTOMATION_OAUTH_PRIVATE_ORIGINS
  const read = (c: Context<SignedIn>) => readPage(c, sql, config.PLATFORM_BASE_URL)

  room.page('viewer', '/settings', (c) => c.redirect(OAUTH_PATH, 303))

  room.page('viewer', OAUTH_PATH, async (c) => {
    const { view } = await read(c)
    return c.html(oauthSettingsPage({ ...view, notice: noticeOf(c.req.query('notice')) }))
  })

  room.form('admin', OAUTH_PATH, async (c) => {
    const values = readValues(c.var.form)
    const result = toSettings(values, privateOrigins)
    if (!result.ok) {
      const { view } = await read(c)
      return c.html(oauthSettingsPage({ ...view, values, problems: result.problems }), 422)
    }
    const { organizationId } = c.var.session.user
    const settings = await withTokenUrl(result.settings, { guard, organizationId })
    const before = await findAutomationOauth(sql, organizationId)
    const target = { kind: 'automation_oauth', id: organizationId }
    const entry = { action: 'automation_oauth_saved', target, before, after: settings }
    await audited(c.var, (tx) => saveAutomationOauth(tx, organizationId, settings), entry)
    const { enabled } = settings
    return c.redirect(`${OAUTH_PATH}?notice=${enabled ? 'oauth-saved' : 'oauth-saved-off'}`, 303)
  })

  room.form('admin', `${OAUTH_PATH}/test`, async (c) => {
    const values = readValues(c.var.form)
    const { view } = await read(c)
    const result = toSettings(values, privateOrigins)
    if (!result.ok) {
      return c.html(oauthSettingsPage({ ...view, values, problems: result.problems }), 422)
    }
    const { organizationId } = c.var.session.user
    const test = await testConfiguration(result.settings, { guard, organizationId })
    return c.html(oauthSettingsPage({ ...view, values, test }))
  })

  room.form('admin', `${OAUTH_PATH}/explain`, async (c) => {
    const { view, settings } = await read(c)
    const explained = await explain(c, settings, { sql, keys })
    return c.html(oauthSettingsPage({ ...view, explained }), explained.problem ? 422 : 200)
  })

  return room.routes
}

/**
 * Adds the token URL that discovery returns, for the examples. A provider that is unavailable keeps
 * nobody from saving.
 */
async function withTokenUrl(
  settings: AutomationOauth,
  options: { guard: OutgoingGuard; organizationId: number },
): Promise<AutomationOauth> {
  if (settings.tokenUrl !== null) return settings
  const { tokenUrl } = await testConfiguration({ ...settings, jwksUrl: null }, options)
  const isPlain = tokenUrl !== null && addressProblem(tokenUrl) === undefined
  return isPlain && tokenUrl.length <= URL_LENGTH_MAX ? { ...settings, tokenUrl } : settings
}

interface Read {
  readonly view: OauthSettingsView
  readonly settings: AutomationOauth | undefined
}

async function readPage(c: Context<SignedIn>, sql: Database, baseUrl: string): Promise<Read> {
  const { session } = c.var
  const { organizationId } = session.user
  const [settings, automations] = await Promise.all([
    findAutomationOauth(sql, organizationId),
    listAutomations(sql, organizationId, { limit: AUTOMATIONS_OFFERED }),
  ])
  const values = settings ? valuesOf(settings) : defaultValues(baseUrl)
  const state = settings ? (settings.enabled ? 'on' : 'off') : 'never'
  return { settings, view: { session, values, state, automations, problems: [] } }
}

async function explain(
  c: Context<SignedIn>,
  settings: AutomationOauth | undefined,
  { sql, keys }: { sql: Database; keys: OpenedGate['keys'] },
): Promise<ExplainedToken> {
  const automationId = (c.var.form.get('automation_id') ?? '').trim()
  const automation = await findAutomation(sql, automationId)
  if (automation?.organizationId !== c.var.session.user.organizationId)
    return { automationId, problem: 'Choose one of your automations.' }
  if (!settings) return { automationId, problem: 'Save the settings first.' }
  // People copy the whole header, and line breaks with it.
  const token = (c.var.form.get('token') ?? '')
    .trim()
    .replace(/^(authorization:\s*)?bearer\s+/i, '')
  if (token === '' || token.length > TOKEN_LENGTH_MAX)
    return { automationId, problem: 'Paste one access token.' }
  const context = {
    organizationId: automation.organizationId,
    settings,
    boundClient: automation.oauthClientId,
  }
  const explanation = await explainToken(token, context, { keys, now: Date.now })
  return { automationId, explanation }
}
