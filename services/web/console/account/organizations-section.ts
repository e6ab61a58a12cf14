import { html } from 'hono/html'
import type { OrganizationChoice, Session } from '../../../platform/people/sessions.ts'
import { sentence } from '../frame/format.ts'
import { csrfField, emptyState, listTable, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The organizations of a person, with the way into each and out of it. */
export const organizationsSection = (session: Session): Html =>
  html`<section class="card flush" aria-labelledby="organizations">
    <div class="card-head"><h2 id="organizations">Organizations</h2></div>
    ${session.organizations.length === 0 ? none() : table(session)}
  </section>`

const none = (): Html =>
  emptyState('people', 'No organization', 'The link of an invitation makes you a member.')

const table = (session: Session): Html =>
  listTable(
    'Your organizations',
    ['Organization', 'Your role', ['unseen', 'Change'], ['unseen', 'Action']],
    session.organizations.map((each) => row(session, each)),
  )

const row = (session: Session, { id, name, role }: OrganizationChoice): Html =>
  html`<tr>
    <td class="lead"><span class="break">${name}</span></td>
    <td data-label="Your role">${sentence(role)}</td>
    <td>
      ${
        id === session.user.organizationId
          ? pill('good', 'you are here')
          : changeForm(session, { id, name })
      }
    </td>
    <td class="action">
      <a
        class="button danger small"
        href="/account/organizations/${id}/leave"
        aria-label="Leave ${name}"
        >Leave</a
      >
    </td>
  </tr>`

const changeForm = ({ csrfToken }: Session, { id, name }: { id: number; name: string }): Html =>
  html`<form method="post" action="/account/organization">
    ${csrfField(csrfToken)}
    <button class="button small" name="organization" value="${id}" aria-label="Change to ${name}">
      Change
    </button>
  </form>`
