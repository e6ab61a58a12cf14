import { html } from 'hono/html'
import type { Member } from '../../../platform/people/members.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { MEMBERS_PATH } from '../frame/addresses.ts'
import { sentence } from '../frame/format.ts'
import { csrfField, pill, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { shortRoleOptions } from '../frame/roles.ts'

/** Members, each with a form for the role and a link to the end of the membership, for admins. */
export function membersTable(session: Session, members: readonly Member[]): Html {
  return html`<table class="list">
    <caption class="unseen">
      Members
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Role</th>
        <th scope="col">Member since</th>
        ${session.role === 'admin' ? actionHead() : ''}
      </tr>
    </thead>
    <tbody>
      ${members.map((member) => row(session, member))}
    </tbody>
  </table>`
}

const actionHead = (): Html => html`<th scope="col"><span class="unseen">Action</span></th>`

function row(session: Session, member: Member): Html {
  const { userId, name, email, isDisabled, since } = member
  const isAdmin = session.role === 'admin'
  return html`<tr>
    <td class="lead">
      <span class="break">${name}${userId === session.user.id ? ' (you)' : ''}</span>
      <span class="sub break">${email ?? ''}</span>
      ${isDisabled ? pill('idle', 'disabled') : ''}
    </td>
    <td data-label="Role" class="row-wide">
      ${isAdmin ? roleForm(session, member) : sentence(member.role)} ${byGroups(member)}
    </td>
    <td data-label="Member since" class="quiet">${time(since)}</td>
    ${isAdmin ? html`<td class="action">${removal(member)}</td>` : ''}
  </tr>`
}

/** The form names the role that it shows, so that one that is out of date changes nothing. */
function roleForm(session: Session, { userId, name, localRole }: Member): Html | string {
  if (localRole === null) return ''
  return html`<form method="post" action="${MEMBERS_PATH}/${userId}/role" class="binding">
    ${csrfField(session.csrfToken)}
    <input type="hidden" name="from" value="${localRole}" />
    <select name="to" aria-label="Role of ${name}">
      ${shortRoleOptions(localRole)}
    </select>
    <button class="button small" aria-label="Save the role of ${name}">Save</button>
  </form>`
}

const byGroups = ({ claimedRole }: Member): Html | string =>
  claimedRole === null
    ? ''
    : html`<span class="sub">${sentence(claimedRole)} by groups of the identity provider</span>`

const removal = ({ userId, name, localRole }: Member): Html | string =>
  localRole === null
    ? ''
    : html`<a
        class="button danger small"
        href="${MEMBERS_PATH}/${userId}/remove"
        aria-label="Remove ${name}"
        >Remove</a
      >`
