import { html } from 'hono/html'
import type { Session } from '../../../platform/sessions.ts'
import type { Html } from './html.ts'
import { icon } from './icons.ts'
import { csrfField } from './parts.ts'

/** Whoever is signed in: the name, the organization with the way to others, and the way out. */
export function account(session: Session): Html {
  const { user, csrfToken } = session
  return html`<div class="account">
    <div class="account-names">
      <a class="account-name" href="/account" title="Your account">${user.name}</a>
      ${session.organizations.length > 1 ? switcher(session) : organizationName(session)}
    </div>
    <form method="post" action="/sign-out">
      ${csrfField(csrfToken)}
      <button class="quiet-button" title="Sign out">
        ${icon('signOut')}<span class="unseen">Sign out</span>
      </button>
    </form>
  </div>`
}

const organizationName = ({ organization }: Session): Html =>
  html`<span class="account-organization">${organization}</span>`

/** The other organizations, each a button that changes to it. */
const switcher = ({ organization, organizations, user, csrfToken }: Session): Html =>
  html`<details class="switcher">
    <summary title="Change the organization">
      <span class="account-organization">${organization}</span>${icon('chevron')}
    </summary>
    <form method="post" action="/account/organization" class="switcher-list">
      ${csrfField(csrfToken)}
      ${organizations
        .filter(({ id }) => id !== user.organizationId)
        .map(
          ({ id, name }) =>
            html`<button name="organization" value="${id}" title="Change to ${name}">
              ${name}
            </button>`,
        )}
      <a href="/account">Your account</a>
    </form>
  </details>`
