import { html } from 'hono/html'
import { plainPage } from './layout.ts'
import { csrfField, problemBox } from './parts.ts'
import type { Html } from './parts.ts'

export interface SignInPage {
  readonly csrfToken: string
  /** Where to go afterwards. */
  readonly next: string
  readonly email?: string
  readonly problem?: string
}

export function signInPage({ csrfToken, next, email = '', problem }: SignInPage): Html {
  const first = email === '' ? html`autofocus` : ''
  const second = email === '' ? '' : html`autofocus`
  return plainPage(
    'Sign in',
    html`<h1>Sign in</h1>
      <p class="hint">Use the account of your organization.</p>
      ${problemBox(problem)}
      <form method="post" action="/sign-in" class="stack">
        ${csrfField(csrfToken)}
        <input type="hidden" name="next" value="${next}" />
        <label
          >Email address
          <input
            type="email"
            name="email"
            value="${email}"
            autocomplete="username"
            maxlength="254"
            required
            ${first}
          />
        </label>
        <label
          >Password
          <input
            type="password"
            name="password"
            autocomplete="current-password"
            required
            ${second}
          />
        </label>
        <button class="button primary">Sign in</button>
      </form>`,
  )
}
