import { Hono } from 'hono'
import type { Context } from 'hono'
import { findAccountLink, useAccountLink } from '../../../platform/people/account-links.ts'
import type { LinkPurpose, LinkedUser } from '../../../platform/people/account-links.ts'
import { setPassword } from '../../../platform/people/accounts.ts'
import { writeAudit } from '../../../platform/audit/audit.ts'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import { AppError } from '../../../shared/errors.ts'
import { actorOf } from '../../gate/callers/actor.ts'
import type { CallerIdentity } from '../../gate/callers/actor.ts'
import { formExpired, readForm, requireSameOrigin } from '../../gate/callers/forms.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { newPasswordFields, readNewPassword } from '../new-password.ts'
import { openSession } from '../open-session.ts'
import type { PasswordChecks } from '../password-checks.ts'
import { bindSignInForm, isOwnSignInForm } from '../sign-in-form.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { html } from 'hono/html'
import { plainPage } from '../../console/frame/layout.ts'
import { csrfField, problemBox } from '../../console/frame/parts.ts'
import type { Html } from '../../console/frame/parts.ts'

/**
 * Serves the links that lead into an account, once each: to a new password, where people sign in
 * with passwords, and past the sign-in.
 */
export function accountLinkRoutes(deps: WebDeps, passwords: PasswordChecks): Hono<WebApp> {
  const routes = new Hono<WebApp>()
  if (deps.config.AUTH_PASSWORDS === 'on') routes.route('/', resetRoutes(deps, passwords))
  routes.route('/', signInLinkRoutes(deps))
  return routes
}

function resetRoutes(deps: WebDeps, passwords: PasswordChecks): Hono<WebApp> {
  const { sql } = deps
  const routes = new Hono<WebApp>()
  const path = '/reset-password/:token'

  routes.get(path, declareRight('anybody'), async (c) =>
    c.html(resetPage(await readPage(c, deps, 'password'))),
  )

  routes.post(path, declareRight('anybody'), async (c) => {
    const form = await readOwnForm(c, deps)
    const page = await readPage(c, deps, 'password')
    const password = await readNewPassword(form, passwords)
    if ('problem' in password) return c.html(resetPage({ ...page, ...password }), 422)
    const token = c.req.param('token')
    const userId = await sql.begin(async (tx) => {
      const id = await useAccountLink(tx, token, 'password')
      if (id === undefined) throw linkOver()
      await setPassword(tx, { userId: id, passwordHash: password.hash })
      await writeAudit(tx, actorOf(c, deps, toIdentity(page.user)), entryOf('password_changed', id))
      return id
    })
    Object.assign(c.var.wide, { audit: 'password_changed', method: 'link', user_id: userId })
    return c.html(resetDonePage())
  })

  return routes
}

function signInLinkRoutes(deps: WebDeps): Hono<WebApp> {
  const { sql } = deps
  const routes = new Hono<WebApp>()
  const path = '/sign-in/link/:token'

  routes.get(path, declareRight('anybody'), async (c) =>
    c.html(signInLinkPage(await readPage(c, deps, 'sign-in'))),
  )

  routes.post(path, declareRight('anybody'), async (c) => {
    await readOwnForm(c, deps)
    const { user } = await readPage(c, deps, 'sign-in')
    const userId = await sql.begin(async (tx) => {
      const id = await useAccountLink(tx, c.req.param('token'), 'sign-in')
      if (id === undefined) throw linkOver()
      await writeAudit(tx, actorOf(c, deps, toIdentity(user)), entryOf('signed_in_by_link', id))
      return id
    })
    await openSession(c, deps, { sql, userId })
    Object.assign(c.var.wide, { audit: 'signed_in', method: 'link', user_id: userId })
    return c.redirect('/', 303)
  })

  return routes
}

async function readOwnForm(c: Context<WebApp>, deps: WebDeps): Promise<URLSearchParams> {
  requireSameOrigin(c, deps.config.PLATFORM_BASE_URL)
  const form = await readForm(c.req.raw)
  if (isOwnSignInForm(c, form, deps)) return form
  throw formExpired()
}

async function readPage(
  c: Context<WebApp>,
  deps: WebDeps,
  purpose: LinkPurpose,
): Promise<LinkPage> {
  const user = await findAccountLink(deps.sql, c.req.param('token') ?? '', purpose)
  if (!user) throw linkOver()
  return { user, path: c.req.path, csrfToken: bindSignInForm(c, deps) }
}

const toIdentity = ({ userId, name, email }: LinkedUser): CallerIdentity => ({
  kind: 'person',
  id: String(userId),
  name: email ?? name,
  organizationId: null,
})

const entryOf = (action: string, id: number): AuditEntry => ({
  action,
  target: { kind: 'user', id },
})

const linkOver = (): AppError =>
  new AppError(
    'not_found',
    'This link is not valid, or no longer: each works once, for a short time, and a newer one ' +
      'takes its place. Ask for another one.',
  )

/** The form behind a link into an account. */
interface LinkPage {
  readonly user: LinkedUser
  readonly path: string
  readonly csrfToken: string
  readonly problem?: string | undefined
}

/** The page on which somebody who lost a password enters a new one. */
function resetPage({ user, path, csrfToken, problem }: LinkPage): Html {
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
const resetDonePage = (): Html =>
  plainPage(
    'Password changed',
    html`<h1>Your password is changed</h1>
      <a class="button primary wide" href="/sign-in">Sign in</a>`,
  )

/** The page that signs somebody in; a program that only looks at its link does not. */
const signInLinkPage = ({ user, path, csrfToken }: LinkPage): Html =>
  plainPage(
    'Sign in',
    html`<h1>Sign in</h1>
      <p class="hint">As ${user.email ?? user.name}, with a link of an operator. It works once.</p>
      <form method="post" action="${path}" class="stack">
        ${csrfField(csrfToken)}
        <button class="button primary">Sign in</button>
      </form>`,
  )
