import { html } from 'hono/html'
import { createAccountLink, LINK_MINUTES } from '../../platform/people/account-links.ts'
import { disableUser, enableUser } from '../../platform/people/accounts.ts'
import {
  deletePerson,
  findPerson,
  keepAnAdministrator,
  listPeople,
} from '../../platform/people/people.ts'
import type { Person } from '../../platform/people/people.ts'
import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'
import { integer, list, nullable, text, say } from '../api/openapi/parts.ts'
import { count } from '../console/frame/format.ts'
import type { Html } from '../console/frame/parts.ts'
import { resource } from '../resources/declaration.ts'
import type { Call, Outcome, View } from '../resources/declaration.ts'
import { factsByName } from './by-name.ts'
import { OF_PLATFORM, platform } from './platform.ts'
import type { Platform } from './platform.ts'

/** Those that the API lists at the most. */
const LISTED_MAX = 10_000

interface Row extends Person {
  /** The person who asks. */
  readonly isSelf: boolean
  /** May get a link to a new password. */
  readonly hasPassword: boolean
}

type Of = Call<Platform>

const toRow = ({ userId, deps }: Of, person: Person): Row => ({
  ...person,
  isSelf: person.id === userId,
  hasPassword: deps.config.AUTH_PASSWORDS === 'on' && person.isLocal,
})

function requireOther({ isSelf }: Row): void {
  if (!isSelf) return
  throw new AppError('conflict', 'This is your own account. Ask another administrator.')
}

/** Changes another person than the one who asks, and leaves the platform an administrator. */
async function changeOther(
  { sql }: Of,
  row: Row,
  change: (tx: Queryable, id: number) => Promise<unknown>,
): Promise<void> {
  requireOther(row)
  await keepAnAdministrator(sql, (tx) => change(tx, row.id))
}

const linkText = ({ name }: Row): string =>
  `A person who opens this link within ${LINK_MINUTES.password / 60} hours can give the account ` +
  `of ${name} a new password, once. It replaces an earlier link.`

/** Makes a link to a new password, for somebody who lost theirs. */
async function makeLink(call: Of, row: Row): Promise<Outcome> {
  const request = { userId: row.id, purpose: 'password' } as const
  requireOther(row)
  const token = row.hasPassword ? await createAccountLink(call.sql, request) : undefined
  if (token === undefined) {
    throw new AppError('conflict', 'This account has no password here that could be changed.')
  }
  return {
    secret: `${call.deps.config.PLATFORM_BASE_URL}/reset-password/${token}`,
    mail: { to: row.email ?? '', subject: 'A new password', text: linkText(row) },
  }
}

const fields = {}

/** The people of the platform; they come by invitations, and by identity providers. */
export const users = resource<Platform, object, Row, typeof fields>({
  kind: 'user',
  id: 'number',
  under: platform('/admin/users'),
  most: LISTED_MAX,
  fields,
  values: () => ({}),
  facts: {
    ...factsByName({
      name: text,
      email: nullable('string'),
      is_local: { type: 'boolean', description: 'It signs in with a password of the platform.' },
    }),
    is_administrator: [
      { type: 'boolean', description: 'Of the whole platform.' },
      ({ isPlatformAdmin }) => isPlatformAdmin,
    ],
    ...factsByName({
      is_disabled: { type: 'boolean' },
      memberships: say(list(text), 'The first organizations, each with the role in it.'),
      live_tokens: say(integer, 'The tokens that it issued and that still work.'),
    }),
  },
  rights: OF_PLATFORM,
  verbs: {
    async list(call) {
      const { items } = await listPeople(call.sql, { limit: LISTED_MAX })
      return items.map((each) => toRow(call, each))
    },
    async page(call, request) {
      const page = await listPeople(call.sql, request)
      return { ...page, items: page.items.map((each) => toRow(call, each)) }
    },
    async find(call, id) {
      const found = await findPerson(call.sql, Number(id))
      return found && toRow(call, found)
    },
    read: async () => ({}),
    remove: (call, row) => changeOther(call, row, deletePerson),
  },
  actions: {
    disable: {
      text: 'Disable',
      past: 'disabled',
      done: 'The account is disabled, and its sessions have ended.',
      undo: 'enable',
      isOffered: ({ isSelf, isDisabled }) => !isSelf && !isDisabled,
      does: (call, row) => changeOther(call, row, disableUser),
    },
    enable: {
      text: 'Enable',
      past: 'enabled',
      done: 'The account is enabled. Its owner can sign in again.',
      undo: 'disable',
      isOffered: ({ isSelf, isDisabled }) => !isSelf && isDisabled,
      does: (call, row) => changeOther(call, row, enableUser),
    },
    reset: {
      text: 'Reset password',
      past: 'password_link_created',
      done: 'The link to a new password is made.',
      makesSecret: true,
      isOffered: ({ isSelf, isDisabled, hasPassword }) => hasPassword && !isSelf && !isDisabled,
      does: makeLink,
    },
  },
  words: {
    about: 'People sign in, and are members of organizations.',
    icon: 'person',
    form: 'Account',
    deleted: 'The account is deleted. What its owner made stays.',
    deletes:
      'Their sessions and memberships end. What they made stays, also the tokens that they ' +
      'issued: revoke those in their organizations. An identity provider may let them sign in ' +
      'anew: end that there.',
  },
  secret: {
    key: 'link',
    label: 'Link',
    isOfActions: true,
    hint: ({ row }) => html`<p>${linkText(row)}</p>`,
  },
  name: ({ email, name }) => email ?? name,
  concerns: () => null,
  isRemovable: ({ isSelf }) => !isSelf,
  state: ({ isDisabled }) => (isDisabled ? ['idle', 'Disabled'] : ['good', 'Enabled']),
  columns: [
    {
      title: 'Name',
      cell: ({ name, email, isSelf }) =>
        html`<span class="break">${name}${isSelf ? ' (you)' : ''}</span>
          <span class="sub break">${email ?? ''}</span>`,
    },
    {
      title: 'Organizations',
      className: 'row-wide',
      cell: ({ memberships }) =>
        memberships.length === 0
          ? html`<span class="quiet">none</span>`
          : html`${memberships.map((each) => html`<span class="sub break">${each}</span>`)}`,
    },
    { title: 'Account', className: 'row-wide', cell: accountOf },
    {
      title: 'Live tokens',
      cell: ({ liveTokens }) => (liveTokens === 0 ? '–' : count(liveTokens)),
    },
  ],
  beside: noteSection,
})

function accountOf({ isLocal, isPlatformAdmin }: Row): Html {
  return html`${isLocal ? 'With a password' : 'By the identity provider'}
  ${isPlatformAdmin ? html`<span class="sub">Administrator of the platform</span>` : ''}`
}

function noteSection({ row: { isSelf } }: View<Platform, Row>): Html {
  if (!isSelf) return html``
  return html`<section class="card" aria-labelledby="own">
    <div class="card-head"><h2 id="own">Your own account</h2></div>
    <p class="hint">
      Another administrator disables or deletes it. Your own settings are under
      <a href="/account">Account</a>.
    </p>
  </section>`
}
