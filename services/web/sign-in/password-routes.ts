import { Hono } from 'hono'
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { AppError } from '../../shared/errors.ts'
import { changePassword } from './change-password.ts'
import type { PasswordChange } from './change-password.ts'
import { clientAddress } from '../gate/callers/client-address.ts'
import { cookieNames } from '../gate/callers/cookies.ts'
import { requireForm } from '../gate/callers/forms.ts'
import type { PasswordChecks } from './password-checks.ts'
import { requireSession } from '../gate/callers/session.ts'
import { tooManyAttempts } from './sign-in.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import { declareRight } from '../gate/callers/declared-right.ts'
import { html } from 'hono/html'
import { PASSWORD_MIN_LENGTH } from '../../platform/people/passwords.ts'
import type { Session } from '../../platform/people/sessions.ts'
import { page } from '../console/frame/layout.ts'
import { csrfField, problemBox } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'

/** Mounts the page of a person's own password, for those who sign in with one. */
export function passwordRoutes(deps: WebDeps, passwords: PasswordChecks): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const person = declareRight('person')
  const session = requireSession(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)

  routes.get(PASSWORD_PATH, person, session, (c) => {
    requireLocal(c)
    return c.html(passwordPage({ session: c.var.session }))
  })

  routes.post(PASSWORD_PATH, person, session, form, async (c) => {
    requireLocal(c)
    const result = await changePassword(sql, passwords, readChange(c, deps))
    const { outcome } = result
    if (outcome === 'ok') {
      c.var.wide['sessions_ended'] = result.sessionsEnded
      return c.redirect('/?notice=password-changed', 303)
    }
    Object.assign(c.var.wide, { audit: 'password_change_failed', reason: outcome })
    if (outcome === 'refused') {
      return c.html(passwordPage({ session: c.var.session, problem: result.problem }), 422)
    }
    const problem = tooManyAttempts(result.retryAfterSeconds)
    const headers = { 'retry-after': String(result.retryAfterSeconds) }
    return c.html(passwordPage({ session: c.var.session, problem }), 429, headers)
  })

  return routes
}

function requireLocal({ var: { session } }: Context<SignedIn>): void {
  if (session.isLocal) return
  throw new AppError('not_found', 'Your password is with your identity provider. Change it there.')
}

function readChange(c: Context<SignedIn>, { config }: WebDeps): PasswordChange {
  const { session, form } = c.var
  return {
    acting: c.var,
    session,
    token: getCookie(c, cookieNames(config.PLATFORM_BASE_URL).session) ?? '',
    address: clientAddress(c, config.TRUSTED_PROXIES),
    current: form.get('current') ?? '',
    next: form.get('next') ?? '',
    again: form.get('again') ?? '',
  }
}

/** The path of the page. */
const PASSWORD_PATH = '/account/password'

/** The content of the page. */
interface PasswordPage {
  readonly session: Session
  readonly problem?: string | undefined
}

/** The page on which people change their own password. */
function passwordPage({ session, problem }: PasswordPage): Html {
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
