import { html } from 'hono/html'
import type { ListedSession, Session } from '../../../platform/people/sessions.ts'
import { csrfField, listTable, pill, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The sessions of a person, each with its end. */
export const sessionsSection = (session: Session, sessions: readonly ListedSession[]): Html =>
  html`<section class="card flush" aria-labelledby="sessions">
    <div class="card-head">
      <h2 id="sessions">Sessions</h2>
      <form method="post" action="/account/sign-out-everywhere" class="push">
        ${csrfField(session.csrfToken)}
        <button class="button danger small">Sign out everywhere</button>
      </form>
    </div>
    ${listTable(
      'Your sessions',
      ['Browser', 'Began', 'Last used', ['unseen', 'Action']],
      sessions.map((each) => row(session, each)),
    )}
  </section>`

function row(session: Session, listed: ListedSession): Html {
  const { id, userAgent, clientAddress, createdAt, lastSeenAt } = listed
  return html`<tr>
    <td class="lead">
      <span class="break">${userAgent || 'Not recorded'}</span>
      <span class="sub mono">${clientAddress}</span>
    </td>
    <td data-label="Began" class="quiet">${time(createdAt)}</td>
    <td data-label="Last used" class="quiet">${time(lastSeenAt)}</td>
    <td class="action">
      ${id === session.id ? pill('good', 'this one') : endForm(session, listed)}
    </td>
  </tr>`
}

const endForm = ({ csrfToken }: Session, { id, createdAt }: ListedSession): Html =>
  html`<form method="post" action="/account/sessions/${id}/end">
    ${csrfField(csrfToken)}
    <button
      class="button danger small"
      aria-label="End the session that began ${createdAt.toISOString()}"
    >
      End
    </button>
  </form>`
