import type { Hono } from 'hono'
import {
  ACTIVITY_RANGES,
  countRunsByStep,
  listAutomationActivity,
} from '../../../platform/runs/activity.ts'
import type { ActivityRange } from '../../../platform/runs/activity.ts'
import {
  listRetiringModels,
  retirementsOf,
} from '../../../platform/connections/model-retirements.ts'
import { countOnline } from '../../../platform/automations/automations.ts'
import { countRuns, listNewestRuns } from '../../../platform/runs/run-list.ts'
import { ENDING_DAYS, countEndingTokens } from '../../../platform/automations/static-tokens.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { dashboardPage } from './page.ts'
import { createRoom } from '../frame/room.ts'
import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { emptyState, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

const AUTOMATIONS = 8
const RECENT = 10

/** Why a redirect leads here rather than to the address that was asked for. */
const WARNINGS: ReadonlyMap<string, string> = new Map([
  [
    'platform-health-unavailable',
    'The health report exists on Kubernetes only, with PLATFORM_SELF_HOSTED=true. This ' +
      'installation has none.',
  ],
])

/** Serves `GET /`: the state of the organization's automations. */
export function dashboardRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const retirements = retirementsOf(config.MODEL_RETIREMENTS)
  const room = createRoom(deps, {
    'password-changed': 'Your password is changed, and your other sessions are signed out.',
    joined: 'You are a member now.',
  })
  room.page('person', '/', async (c) => {
    const { session } = c.var
    const { organizationId } = session.user
    const warning = WARNINGS.get(c.req.query('notice') ?? '')
    if (session.role === null) return c.html(noOrganizationPage(session, warning))
    const range = readRange(c.req.query('range'))
    const [automations, online, counts, steps, recent, endingTokens, retiring] = await Promise.all([
      listAutomationActivity(sql, organizationId, { limit: AUTOMATIONS }),
      countOnline(sql, organizationId),
      countRuns(sql, { organizationId }),
      countRunsByStep(sql, { organizationId }, range),
      listNewestRuns(sql, { organizationId }, RECENT),
      countEndingTokens(sql, organizationId, ENDING_DAYS),
      listRetiringModels(sql, retirements, { organizationId }),
    ])
    const messages = { notice: c.var.notice, warning }
    const figures = { automations, online, counts, range, steps, recent, endingTokens, retiring }
    return c.html(dashboardPage({ session, ...messages, ...figures }))
  })
  return room.routes
}

const isRange = (text: string): text is ActivityRange => Object.hasOwn(ACTIVITY_RANGES, text)

/** Returns the range of an address; a day for any other text. */
const readRange = (text = ''): ActivityRange => (isRange(text) ? text : '24h')

/** The first page of somebody who is a member of no organization, or not any more. */
function noOrganizationPage(session: Session, warning: string | undefined): Html {
  return page(
    { title: 'Dashboard', session, current: '/' },
    html`<div class="page-head"><h1>Dashboard</h1></div>
      ${warning ? warningBox(warning) : ''}
      <section class="card">
        ${emptyState(
          'key',
          'You are not a member of any organization',
          'Ask an admin of yours for an invitation. Its link makes you a member.',
        )}
      </section>`,
  )
}
