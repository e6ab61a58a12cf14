import { html } from 'hono/html'
import type { LinkedUser } from '../../../platform/people/account-links.ts'
import { plainPage } from '../../console/frame/layout.ts'
import { csrfField, problemBox } from '../../console/frame/parts.ts'
import type { Html } from '../../console/frame/parts.ts'
import { newPasswordFields } from '../new-password.ts'

/** The form behind a link into an account. */
export interface LinkPage {
  readonly user: LinkedUser
  readonly path: string
  readonly csrfToken: string
  readonly problem?: string | undefined
}

/** The page on which somebody who lost a password enters a new one. */
export function resetPage({ user, path, csrfToken, problem }: LinkPage): Html {
  return plainPage(
    'New password',
    html`<h1>New password</h1>
      <p class="hint">For ${user.email ?? user.name}. All sessions of the account end.</p>
      ${problemBox(problem)}
      <form method="post" action="${path}" class="stack">
        ${csrfField(csrfToken)}
        <input type="hidden" name="username" value="${user.email ?? ''}" autocomplete="username" />
        ${newPasswordFields()}
        <button class="button primary">Change password</button>
      </form>`,
  )
}

/** The page after that. */
export const resetDonePage = (): Html =>
  plainPage(
    'Password changed',
    html`<h1>Your password is changed</h1>
      <a class="button primary wide" href="/sign-in">Sign in</a>`,
  )

/** The page that signs somebody in; a program that only looks at its link does not. */
export const signInLinkPage = ({ user, path, csrfToken }: LinkPage): Html =>
  plainPage(
    'Sign in',
    html`<h1>Sign in</h1>
      <p class="hint">As ${user.email ?? user.name}, with a link of an operator. It works once.</p>
      <form method="post" action="${path}" class="stack">
        ${csrfField(csrfToken)}
        <button class="button primary">Sign in</button>
      </form>`,
  )
