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
import { PASSWORD_PATH, passwordPage } from './password-page.ts'
import { declareRight } from '../gate/callers/declared-right.ts'

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
