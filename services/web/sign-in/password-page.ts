import { html } from 'hono/html'
import { PASSWORD_MIN_LENGTH } from '../../platform/people/passwords.ts'
import type { Session } from '../../platform/people/sessions.ts'
import { page } from '../console/frame/layout.ts'
import { csrfField, problemBox } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'

/** The path of the page. */
export const PASSWORD_PATH = '/account/password'

/** The content of the page. */
interface PasswordPage {
  readonly session: Session
  readonly problem?: string | undefined
}

/** The page on which people change their own password. */
export function passwordPage({ session, problem }: PasswordPage): Html {
  return page(
    { title: 'Password', session },
    html`<div class="page-head">
        <div>
          <h1>Password</h1>
          <p class="hint">For ${session.user.email}. Changing it ends your other sessions.</p>
        </div>
      </div>
      ${problemBox(problem)}
      <section class="card narrow" aria-label="Change the password">
        <form method="post" action="${PASSWORD_PATH}" class="stack">
          ${csrfField(session.csrfToken)}
          <input
            type="hidden"
            name="username"
            value="${session.user.email}"
            autocomplete="username"
          />
          ${field('Current password', 'current', 'current-password')}
          ${field('New password', 'next', 'new-password')}
          <p class="hint under">At least ${PASSWORD_MIN_LENGTH} characters.</p>
          ${field('New password again', 'again', 'new-password')}
          <div><button class="button primary">Change password</button></div>
        </form>
      </section>`,
  )
}

const field = (label: string, name: string, autocomplete: string): Html =>
  html`<label
    >${label}
    <input
      type="password"
      name="${name}"
      autocomplete="${autocomplete}"
      maxlength="1024"
      required
    />
  </label>`
