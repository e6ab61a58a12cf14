import type { Context } from 'hono'
import { html } from 'hono/html'
import type {
  ListedSession,
  OrganizationChoice,
  Session,
} from '../../../platform/people/sessions.ts'
import type { SignedIn } from '../../context.ts'
import { page } from '../frame/layout.ts'
import {
  ago,
  csrfField,
  emptyState,
  listTable,
  noticeBox,
  pill,
  problemBox,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { sentence } from '../frame/format.ts'

/** The account of whoever is signed in. */
interface AccountPage {
  readonly session: Session
  readonly sessions: readonly ListedSession[]
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** Reads the account of whoever is signed in. */
export type ReadAccountPage = (c: Context<SignedIn>, problem?: string) => Promise<AccountPage>

/** A person's organizations and sessions. */
export function accountPage({ session, sessions, notice, problem }: AccountPage): Html {
  const { user, isLocal } = session
  return page(
    { title: 'Your account', session },
    html`<div class="page-head">
        <div>
          <h1 class="break">${user.name}</h1>
          <p class="hint">${user.email ?? 'Known by the identity provider'}</p>
        </div>
        ${isLocal ? html`<a class="button push" href="/account/password">Change password</a>` : ''}
      </div>
      ${noticeBox(notice)} ${problemBox(problem)} ${organizationsSection(session)}
      ${sessionsSection(session, sessions)}`,
  )
}

/** The organizations of a person, with the way into each and out of it. */
const organizationsSection = (session: Session): Html =>
  html`<section class="card flush" aria-labelledby="organizations">
    <div class="card-head"><h2 id="organizations">Organizations</h2></div>
    ${
      session.organizations.length === 0
        ? emptyState('people', 'No organization', 'The link of an invitation makes you a member.')
        : organizationsTable(session)
    }
  </section>`

const organizationsTable = (session: Session): Html =>
  listTable(
    'Your organizations',
    ['Organization', 'Your role', ['unseen', 'Change'], ['unseen', 'Action']],
    session.organizations.map((each) => organizationRow(session, each)),
  )

const organizationRow = (session: Session, { id, name, role }: OrganizationChoice): Html =>
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

/** The sessions of a person, each with its end. */
const sessionsSection = (session: Session, sessions: readonly ListedSession[]): Html =>
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
      sessions.map((each) => sessionRow(session, each)),
    )}
  </section>`

function sessionRow(session: Session, listed: ListedSession): Html {
  const { id, userAgent, clientAddress, createdAt, lastSeenAt } = listed
  return html`<tr>
    <td class="lead">
      <span class="break">${userAgent || 'Not recorded'}</span>
      <span class="sub mono">${clientAddress}</span>
    </td>
    <td data-label="Began" class="quiet">${ago(createdAt)}</td>
    <td data-label="Last used" class="quiet">${ago(lastSeenAt)}</td>
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
