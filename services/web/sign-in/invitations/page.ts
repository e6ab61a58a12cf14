import { html } from 'hono/html'
import type { Invitation } from '../../../platform/people/invitations.ts'
import { plainPage } from '../../console/frame/layout.ts'
import { csrfField, problemBox } from '../../console/frame/parts.ts'
import type { Html } from '../../console/frame/parts.ts'
import { ROLE_TEXTS } from '../../console/frame/roles.ts'
import { newPasswordFields } from '../new-password.ts'

/** An invitation as whoever opens its link sees it. */
export interface InvitationPage {
  readonly invitation: Invitation
  /** The path of the link. */
  readonly path: string
  /** The CSRF token of the session or, before the sign-in, of this form. */
  readonly csrfToken: string
  /** The name of whoever is signed in; nobody makes an account or signs in. */
  readonly signedInAs?: string | undefined
  /** The name of the identity provider, if there is one. */
  readonly provider?: string | undefined
  /** False if nobody signs in with a password. */
  readonly passwords: boolean
  readonly typed?: { readonly name: string; readonly email: string }
  readonly problem?: string | undefined
}

/** The page that a link of an invitation leads to. */
export function invitationPage(view: InvitationPage): Html {
  const { invitation, signedInAs, problem } = view
  const { organization, role, invitedBy } = invitation
  return plainPage(
    `Join ${organization}`,
    html`<h1>Join ${organization}</h1>
      <p>
        ${invitedBy ?? 'A member'} invites you to ${organization}. ${role === 'viewer' ? 'A' : 'An'}
        ${role} ${ROLE_TEXTS[role]}.
      </p>
      ${problemBox(problem)} ${signedInAs === undefined ? newcomer(view) : joinForm(view)}`,
  )
}

const joinForm = ({ path, csrfToken, signedInAs }: InvitationPage): Html =>
  html`<form method="post" action="${path}" class="stack">
    ${csrfField(csrfToken)}
    <p class="hint">You are signed in as ${signedInAs}.</p>
    <button class="button primary">Join</button>
  </form>`

function newcomer(view: InvitationPage): Html {
  const { path, provider, passwords } = view
  const next = encodeURIComponent(path)
  const signIn =
    provider === undefined
      ? html`<a class="button wide" href="/sign-in?next=${next}">Sign in to join</a>`
      : html`<a class="button primary wide" href="/sign-in/start?next=${next}"
          >Continue with ${provider}</a
        >`
  return passwords
    ? html`${provider === undefined ? '' : signIn} ${accountForm(view)}
      ${
        provider === undefined
          ? html`<p class="hint">You have an account?</p>
              ${signIn}`
          : ''
      }`
    : signIn
}

const accountForm = ({ path, csrfToken, typed }: InvitationPage): Html =>
  html`<form method="post" action="${path}/account" class="stack">
    ${csrfField(csrfToken)}
    <label
      >Your name
      <input
        name="name"
        value="${typed?.name ?? ''}"
        maxlength="200"
        autocomplete="name"
        required
      />
    </label>
    <label
      >Email address
      <input
        type="email"
        name="email"
        value="${typed?.email ?? ''}"
        maxlength="254"
        autocomplete="username"
        required
      />
    </label>
    ${newPasswordFields()}
    <button class="button primary">Create an account and join</button>
  </form>`
