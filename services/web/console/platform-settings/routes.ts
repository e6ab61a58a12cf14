import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  FEATURE_FLAGS,
  listFlags,
  readFlagState,
  setFlag,
} from '../../../platform/feature-flags.ts'
import { findOrganizationByName } from '../../../platform/people/organizations.ts'
import { AppError } from '../../../shared/errors.ts'
import { requireAdministrator } from '../../gate/callers/administrator.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { noticeOf } from '../frame/notices.ts'
import { PLATFORM_SETTINGS_PATH, platformSettingsPage } from './page.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

/** Serves the settings of the whole platform to administrators, and 404 to anybody else. */
export function platformSettingsRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const administrator = requireAdministrator(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  async function show(c: Context<SignedIn>, problem?: string) {
    const { session } = c.var
    const notice = problem ? undefined : noticeOf(c.req.query('notice'))
    const flags = await listFlags(sql)
    return c.html(platformSettingsPage({ session, flags, notice, problem }), problem ? 422 : 200)
  }

  routes.get(PLATFORM_SETTINGS_PATH, declareRight('platform-admin'), administrator, (c) => show(c))

  routes.post(
    `${PLATFORM_SETTINGS_PATH}/flags/:name`,
    declareRight('platform-admin'),
    administrator,
    form,
    async (c) => {
      const name = FEATURE_FLAGS.find((each) => each === c.req.param('name'))
      const enabled = readFlagState(c.var.form.get('state') ?? '')
      if (name === undefined) throw new AppError('not_found', 'The platform has no such flag.')
      if (enabled === undefined) return show(c, 'The state of a flag is on or off.')
      const wanted = (c.var.form.get('organization') ?? '').trim().replaceAll('\0', '')
      const organization = wanted === '' ? null : await findOrganizationByName(sql, wanted)
      if (organization === undefined) return show(c, `There is no organization "${wanted}".`)
      const organizationId = organization?.id ?? null
      const target = { kind: 'feature_flag', id: name }
      const entry = { action: 'feature_flag_set', organizationId, target, after: { enabled } }
      await audited(c.var, (tx) => setFlag(tx, { name, organizationId, enabled }), entry)
      return c.redirect(`${PLATFORM_SETTINGS_PATH}?notice=flag-saved`, 303)
    },
  )

  return routes
}
