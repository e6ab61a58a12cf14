import { html } from 'hono/html'
import type { Invitation } from '../../../platform/people/invitations.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { sentence } from '../frame/format.ts'
import { time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'

/** The invitations that nobody has accepted yet; nothing when there are none. */
export function invitationsSection(
  session: Session,
  invitations: readonly Invitation[],
): Html | string {
  if (invitations.length === 0) return ''
  return html`<section class="card flush" aria-labelledby="invitations">
    <div class="card-head"><h2 id="invitations">Open invitations</h2></div>
    <table class="list">
      <caption class="unseen">
        Open invitations
      </caption>
      <thead>
        <tr>
          <th scope="col">For</th>
          <th scope="col">Role</th>
          <th scope="col">Invited by</th>
          <th scope="col">Valid until</th>
          <th scope="col"><span class="unseen">Action</span></th>
        </tr>
      </thead>
      <tbody>
        ${invitations.map((invitation) => row(session, invitation))}
      </tbody>
    </table>
  </section>`
}

function row(session: Session, { id, note, role, invitedBy, expiresAt }: Invitation): Html {
  const whom = note === '' ? 'Anyone with the link' : note
  return html`<tr>
    <td class="lead"><span class="break">${whom}</span></td>
    <td data-label="Role">${sentence(role)}</td>
    <td data-label="Invited by" class="quiet">${invitedBy ?? '–'}</td>
    <td data-label="Valid until" class="quiet">${time(expiresAt)}</td>
    <td class="action">
      ${finalForm(session, {
        action: `/settings/organization/invitations/${id}/revoke`,
        what: html`Revoke<span class="unseen"> the invitation for ${whom}</span>`,
        verb: 'Revoke for good',
      })}
    </td>
  </tr>`
}
