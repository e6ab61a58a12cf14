import { Hono } from 'hono'
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { AppError } from '../../shared/errors.ts'
import { PASSWORD_MIN_LENGTH } from '../../platform/people/passwords.ts'
import type { Session } from '../../platform/people/sessions.ts'
import { findPasswordHash, setPassword } from '../../platform/people/accounts.ts'
import { countFailure } from '../../platform/people/sign-in-failures.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { clientAddress } from '../gate/callers/client-address.ts'
import { cookieNames } from '../gate/callers/cookies.ts'
import { requireForm } from '../gate/callers/forms.ts'
import { requireSession } from '../gate/callers/session.ts'
import type { SignedIn, WebDeps } from '../context.ts'
import { declareRight } from '../gate/callers/declared-right.ts'
import { page } from '../console/frame/layout.ts'
import { csrfField, problemBox } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { createAudited } from '../gate/callers/audited.ts'
import type { Acting } from '../gate/callers/audited.ts'
import type { PasswordChecks } from './password-checks.ts'
import { tooManyAttempts, accountThrottle, addressThrottle, throttledFor } from './sign-in.ts'

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

/** A request to change a password. */
interface PasswordChange {
  readonly acting: Acting
  readonly session: Session
  /** The token of that session, which goes on. */
  readonly token: string
  /** The address of the client; see `clientAddress`. */
  readonly address: string
  readonly current: string
  readonly next: string
  readonly again: string
}

/** The outcome of a request to change a password. */
type PasswordResult =
  | { readonly outcome: 'ok'; readonly sessionsEnded: number }
  | { readonly outcome: 'throttled'; readonly retryAfterSeconds: number }
  | { readonly outcome: 'refused'; readonly problem: string }

/**
 * Changes the password of whoever is signed in and knows the current one; the other sessions end.
 * Attempts count as those at a sign-in do, so that a session that was taken over gives no more
 * guesses. Raises `unavailable` when too many passwords are looked at.
 */
async function changePassword(
  sql: Database,
  passwords: PasswordChecks,
  change: PasswordChange,
): Promise<PasswordResult> {
  const { session, token, current, next, again } = change
  const { id: userId, email } = session.user
  if (next !== again) return refused('The two new passwords differ.')
  if (next === current) return refused('The new password is the same as the current one.')
  const origin = addressThrottle(change.address)
  const retryAfterSeconds = await throttledFor(sql, accountThrottle(email ?? ''), origin)
  if (retryAfterSeconds > 0) return { outcome: 'throttled', retryAfterSeconds }
  if (!(await passwords.verify(current, await findPasswordHash(sql, userId)))) {
    await countFailure(sql, origin)
    return refused('The current password is incorrect.')
  }
  const passwordHash = await hashOrProblem(passwords, next)
  if (typeof passwordHash !== 'string') return refused(passwordHash.message)
  const target = { kind: 'user', id: userId, name: email }
  const sessionsEnded = await createAudited(sql)(
    change.acting,
    async (tx) => (await setPassword(tx, { userId, passwordHash, keptToken: token })) ?? 0,
    (ended) => ({ action: 'password_changed', target, after: { sessions_ended: ended } }),
  )
  return { outcome: 'ok', sessionsEnded }
}

const refused = (problem: string): PasswordResult => ({ outcome: 'refused', problem })

/** Returns the error of a password that is too short or too long, for the person to correct. */
async function hashOrProblem({ hash }: PasswordChecks, password: string) {
  try {
    return await hash(password)
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'unprocessable') return thrown
    throw thrown
  }
}
