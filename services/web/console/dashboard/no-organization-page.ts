import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { emptyState, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The first page of somebody who is a member of no organization, or not any more. */
export function noOrganizationPage(session: Session, warning: string | undefined): Html {
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
