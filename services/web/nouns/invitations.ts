import { html } from 'hono/html'
import * as v from 'valibot'
import { requireGrantable } from '../../platform/automations/static-token-fields.ts'
import {
  createInvitation,
  findOwnInvitation,
  INVITATION_DAYS,
  INVITATION_NOTE_MAX,
  invitationOver,
  INVITATIONS_MAX,
  listInvitations,
  revokeInvitation,
} from '../../platform/people/invitations.ts'
import type { Invitation } from '../../platform/people/invitations.ts'
import type { Organization } from '../../platform/people/organizations.ts'
import { AppError } from '../../shared/errors.ts'
import { textUpTo } from '../../shared/schemas.ts'
import { moment, nullable, say } from '../api/openapi/parts.ts'
import { invitationUrl, MEMBERS_PATH, OAUTH_PATH } from '../console/frame/addresses.ts'
import { sentence } from '../console/frame/format.ts'
import { ago } from '../console/frame/parts.ts'
import { isMailAddress } from '../mail/mailer.ts'
import { text } from '../resources/controls.ts'
import type { Control } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import { factsByName, valuesByName } from './by-name.ts'
import { roleOfPerson } from './members.ts'
import { organization } from './organization.ts'

const address = text({ max: 254, isOptional: true })
/** Asked for where the platform has a mail server; the address is not kept. */
const sentTo: Control = {
  ...address,
  isSecret: true,
  render: (shown, typed) => (typed.has(shown.name) ? address.render(shown, typed) : html``),
}

const fields = {
  role: roleOfPerson,
  note: field(
    v.optional(
      v.pipe(
        textUpTo(INVITATION_NOTE_MAX),
        v.regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must have no control characters'),
      ),
      '',
    ),
    {
      label: 'For whom',
      hint: 'Only for the list',
      control: text({ max: INVITATION_NOTE_MAX, isOptional: true }),
      example: 'Such as grace@example.com',
    },
  ),
  email: field(
    v.optional(
      v.pipe(
        v.string('must be a text'),
        v.check(isMailAddress, 'must be one address such as ada@example.com'),
      ),
    ),
    {
      label: 'Send the link to',
      hint: 'By the mail server of the platform; it is not kept',
      control: sentTo,
      facts: (to) => (to === undefined ? {} : { mail: to }),
    },
  ),
}

interface Given extends Pick<Invitation, 'role' | 'note'> {
  readonly email?: string | undefined
}

/** What makes a person a member, who has the link. Those that can be accepted are listed. */
export const invitations = resource<Organization, Given, Invitation, typeof fields>({
  kind: 'invitation',
  id: 'number',
  under: organization(
    MEMBERS_PATH,
    [
      { path: OAUTH_PATH, name: 'Settings' },
      { path: MEMBERS_PATH, name: 'Members' },
    ],
    '/settings/organization',
  ),
  most: INVITATIONS_MAX,
  fields,
  values: valuesByName(fields),
  facts: factsByName({
    invited_by: say(
      nullable('string'),
      'Null: it was made over the API, or the account is deleted.',
    ),
    created_at: moment,
    expires_at: moment,
  }),
  rights: { read: 'admin', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: ({ sql, owner }) => listInvitations(sql, owner.id),
    find: ({ sql, owner: { id: organizationId } }, id) =>
      findOwnInvitation(sql, { id: Number(id), organizationId }),
    async read({ sql, deps, tokenId }, given) {
      if (given.email !== undefined && !deps.mailer) {
        throw new AppError(
          'unprocessable',
          'This platform has no mail server: leave the address out, and pass the link on yourself.',
        )
      }
      if (tokenId !== null) await requireGrantable(sql, tokenId, given.role)
      return { ...given, note: given.note.trim() }
    },
    async create({ sql, deps, owner, userId: createdBy }, { role, note, email: to = '' }) {
      const { id: organizationId, name } = owner
      const created = await createInvitation(sql, { organizationId, role, note, createdBy })
      const row = await findOwnInvitation(sql, { id: created.id, organizationId })
      if (!row) throw invitationOver()
      const url = invitationUrl(deps.config.PLATFORM_BASE_URL, created.token)
      const mail = { to, subject: `Invitation to ${name}`, text: purposeOf(row) }
      return { row, secret: url, mail }
    },
    remove: ({ sql }, row) => revokeInvitation(sql, row),
  },
  actions: {},
  words: {
    about:
      'An invitation is a link to hand over: it makes one person a member, with an account that ' +
      'they have or with a new one.',
    icon: 'people',
    form: 'What it gives',
    saved: 'The invitation is created.',
    deleted: 'The invitation is revoked. Its link no longer works.',
    deletes: 'Its link no longer works.',
    end: ['Revoke', 'revoked'],
  },
  secret: {
    key: 'link',
    label: 'Link',
    isMailed: true,
    hint: ({ row }) => html`<p>${purposeOf(row)}</p>`,
  },
  name: whomOf,
  state: () => ['busy', 'Open'],
  columns: [
    { title: 'For', cell: (row) => html`<span class="break">${whomOf(row)}</span>` },
    { title: 'Role', cell: ({ role }) => sentence(role) },
    { title: 'Invited by', className: 'quiet', cell: ({ invitedBy }) => invitedBy ?? '–' },
    { title: 'Valid until', className: 'quiet', cell: ({ expiresAt }) => ago(expiresAt) },
  ],
  proposes: async ({ deps: { mailer } }) => ({ role: 'viewer', ...(mailer && { email: '' }) }),
})

function whomOf({ note }: Given): string {
  return note === '' ? 'Anyone with the link' : note
}

const purposeOf = ({ organization: name, role }: Invitation): string =>
  `The first person who opens this link within ${INVITATION_DAYS} days can become a member of ` +
  `${name}, with the role ${role}.`
