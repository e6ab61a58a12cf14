import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { MEMBERS_PATH } from './addresses.ts'
import type { Html } from './html.ts'
import { icon } from './icons.ts'
import { csrfField } from './parts.ts'

/** Whoever is signed in: the menu of the person and the organization, and the way out. */
export function account(session: Session): Html {
  const { user, organization, csrfToken } = session
  return html`<div class="account">
    <details class="account-menu">
      <summary title="Account and organization">
        <span class="avatar" aria-hidden="true">${initialsOf(user.name)}</span>
        <span class="account-names">
          <span class="account-name">${user.name}</span>
          <span class="account-organization">${organization}</span>
        </span>
        ${icon('chevron')}
      </summary>
      <div class="menu-list">
        ${choices(session)}
        <a href="/account">Your account</a>
        ${session.role === null ? '' : html`<a href="${MEMBERS_PATH}">Members</a>`}
        ${display(session)}
        <button type="button" data-shortcuts hidden>Keyboard shortcuts</button>
      </div>
    </details>
    <form method="post" action="/sign-out">
      ${csrfField(csrfToken)}
      <button class="quiet-button" title="Sign out">
        ${icon('signOut')}<span class="unseen">Sign out</span>
      </button>
    </form>
  </div>`
}

/** Returns up to two letters that stand for a name. */
function initialsOf(name: string): string {
  const words = name.split(/\s+/u).filter((word) => /^[\p{L}\p{N}]/u.test(word))
  const [first = '', ...others] = words
  return [first, others.at(-1) ?? '']
    .map((word) => /^./u.exec(word)?.[0] ?? '')
    .join('')
    .toUpperCase()
}

/** The other organizations, each a button that changes to it. */
const choices = ({ organizations, user, csrfToken }: Session): Html | string =>
  organizations.length <= 1
    ? ''
    : html`<form method="post" action="/account/organization" aria-label="Change the organization">
        ${csrfField(csrfToken)}
        <p class="menu-title">Change to</p>
        ${organizations
          .filter(({ id }) => id !== user.organizationId)
          .map(({ id, name }) => html`<button name="organization" value="${id}">${name}</button>`)}
      </form>`

const display = ({ csrfToken, isCompact = false }: Session): Html =>
  html`<form method="post" action="/account/display">
    ${csrfField(csrfToken)}
    <button name="density" value="${isCompact ? 'roomy' : 'compact'}">
      ${isCompact ? 'Roomy lists' : 'Compact lists'}
    </button>
  </form>`
