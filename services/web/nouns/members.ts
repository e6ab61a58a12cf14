import { html } from 'hono/html'
import * as v from 'valibot'
import { requireGrantable } from '../../platform/automations/static-token-fields.ts'
import { findMember, listMembers } from '../../platform/people/members.ts'
import type { Member } from '../../platform/people/members.ts'
import {
  changeMemberRole,
  ORGANIZATION_ROLES,
  removeMember,
} from '../../platform/people/memberships.ts'
import type { OrganizationRole } from '../../platform/people/memberships.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { oneOf } from '../../shared/schemas.ts'
import { moment, nullable, text as string, say } from '../api/openapi/parts.ts'
import { INVITATIONS_PATH, MEMBERS_PATH, OAUTH_PATH } from '../console/frame/addresses.ts'
import { sentence } from '../console/frame/format.ts'
import { isIdCursor } from '../console/frame/lists/page-request.ts'
import { ago, time } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { ROLE_CHOICES } from '../console/frame/roles.ts'
import { choice, text } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call, View } from '../resources/declaration.ts'
import { organization } from './organization.ts'

/** Those that the API lists at the most. */
const LISTED_MAX = 1000

/** The role of a person, as forms and programs say it. */
export const roleOfPerson = field(oneOf(ORGANIZATION_ROLES), {
  label: 'Role',
  control: choice(ROLE_CHOICES),
  example: 'editor',
})

const fields = {
  email: field(v.optional(v.nullable(v.string('must be a text')), null), {
    label: 'Email address',
    control: text({ max: 254, isOptional: true }),
    example: 'grace@example.com',
    isFixed: true,
    facts: () => ({}),
  }),
  role: roleOfPerson,
}

interface Given {
  readonly email: string | null
  /** The one that was given here; where there is none, that of groups. */
  readonly ownRole: OrganizationRole
}

interface Row extends Given, Member {
  readonly id: number
  readonly isSelf: boolean
}

const under = organization(
  MEMBERS_PATH,
  [{ path: OAUTH_PATH, name: 'Settings' }],
  '/settings/organization',
)

const toRow =
  ({ userId }: Call<Organization>) =>
  (member: Member): Row => ({
    ...member,
    id: member.userId,
    ownRole: member.localRole ?? member.role,
    isSelf: member.userId === userId,
  })

/** The people of an organization. They become members by an invitation, or by groups. */
export const members = resource<Organization, Given, Row, typeof fields>({
  kind: 'member',
  id: 'number',
  under: {
    ...under,
    head: (owner, { aside, ...texts }) =>
      under.head(owner, {
        ...texts,
        aside: html`${aside} <a class="button push" href="${INVITATIONS_PATH}">Invitations</a>`,
      }),
  },
  most: LISTED_MAX,
  fields,
  identity: 'email',
  values: ({ email, ownRole }) => ({ email, role: ownRole }),
  facts: {
    name: [string, ({ name }) => name],
    effective_role: [
      say(string, 'The higher one of `role` and `groups_role`.'),
      ({ role }) => role,
    ],
    groups_role: [
      say(nullable('string'), 'What groups of the identity provider give.'),
      ({ claimedRole }) => claimedRole,
    ],
    disabled: [{ type: 'boolean' }, ({ isDisabled }) => isDisabled],
    since: [moment, ({ since }) => since],
  },
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    async list(call) {
      const { items } = await listMembers(call.sql, call.owner.id, { limit: LISTED_MAX })
      return items.map(toRow(call))
    },
    async page(call, { after, before, ...request }) {
      const [from, to] = [after, before].map((each) => (isIdCursor(each ?? '') ? each : undefined))
      const asked = { ...request, after: from, before: to }
      const page = await listMembers(call.sql, call.owner.id, asked)
      return { ...page, items: page.items.map(toRow(call)) }
    },
    async find(call, id) {
      const key = { organizationId: call.owner.id, userId: Number(id) }
      const found = await findMember(call.sql, key)
      return found && toRow(call)(found)
    },
    async read({ sql, tokenId }, { email, role: ownRole }) {
      if (tokenId !== null) await requireGrantable(sql, tokenId, ownRole)
      return { email, ownRole }
    },
    async change(call, row, { ownRole: to }) {
      const { from, ...key } = ownedKey(call, row)
      await changeMemberRole(call.sql, { ...key, from, to })
    },
    async remove(call, row) {
      if (row.isSelf) throw new AppError('conflict', 'You leave on the page of your account.')
      if (await removeMember(call.sql, ownedKey(call, row))) return
      throw new AppError('not_found', 'The membership has ended meanwhile.')
    },
  },
  actions: {},
  words: {
    about: 'A member sees what belongs to the organization, and does what the role allows.',
    icon: 'people',
    form: 'Role',
    saved: 'The role is saved. It applies from the next request on.',
    deleted: 'The membership has ended. What the person made stays.',
    deletes:
      'From the next request on they have no access to the organization, unless groups of the ' +
      'identity provider give them a role. What they made stays, and so do the tokens that they ' +
      'issued.',
    end: ['Remove', 'removed'],
    made: 'A person becomes a member by an invitation: POST /designer/v2/invitations.',
  },
  name: ({ name, email }) => email ?? name,
  state: ({ isDisabled }) => (isDisabled ? ['idle', 'Disabled'] : ['good', 'Active']),
  columns: [
    {
      title: 'Name',
      cell: ({ name, email, isSelf }) =>
        html`<span class="break">${name}${isSelf ? ' (you)' : ''}</span>
          <span class="sub break">${email ?? ''}</span>`,
    },
    {
      title: 'Role',
      className: 'row-wide',
      cell: ({ role, localRole, claimedRole }) =>
        html`${sentence(localRole ?? role)}
        ${claimedRole ? html`<span class="sub">${byGroups(claimedRole)}</span>` : ''}`,
    },
    { title: 'Member since', className: 'quiet', cell: ({ since }) => ago(since) },
  ],
  beside: besideRole,
})

/**
 * Names a membership that was given here, with its role. Raises `conflict` where only groups give
 * one, and `forbidden` to a token for that of an admin.
 */
function ownedKey(
  { owner: { id: organizationId }, tokenId }: Call<Organization>,
  { userId, role, localRole: from, claimedRole }: Row,
) {
  if (tokenId !== null && role === 'admin') {
    throw new AppError('forbidden', 'A token neither changes nor removes an admin: an admin does.')
  }
  if (from) return { userId, organizationId, from }
  throw new AppError('conflict', `${byGroups(claimedRole ?? role)}: change it there.`)
}

const byGroups = (role: OrganizationRole): string =>
  `${sentence(role)} by groups of the identity provider`

/** What is done elsewhere: leaving, and what groups give. */
function besideRole({ owner, row }: View<Organization, Row>): Html {
  const { isSelf, name, role, localRole, claimedRole } = row
  const groups = claimedRole
    ? html`<p>
        ${byGroups(claimedRole)}${localRole ? `. ${sentence(role)} counts.` : ': change it there.'}
      </p>`
    : ''
  const leave = isSelf
    ? html`<p>
        <a class="button" href="/account/organizations/${owner.id}/leave">Leave ${owner.name}</a>
      </p>`
    : ''
  return html`<section class="card" aria-labelledby="person">
    <div class="card-head"><h2 id="person">${name}</h2></div>
    <p class="hint">${sentence(role)}, member since ${time(row.since)}</p>
    ${groups} ${leave}
  </section>`
}
