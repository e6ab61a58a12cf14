import { Hono } from 'hono'
import type { Context } from 'hono'
import { writeAudit } from '../../../platform/audit/audit.ts'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import {
  acceptInvitation,
  findInvitation,
  invitationOver,
} from '../../../platform/people/invitations.ts'
import type { Accepted, Invitation } from '../../../platform/people/invitations.ts'
import { enterOrganization } from '../../../platform/people/sessions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { actorOf } from '../../gate/callers/actor.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { formExpired, readForm, requireForm, requireSameOrigin } from '../../gate/callers/forms.ts'
import { readSession, requireSession, sessionToken } from '../../gate/callers/session.ts'
import type { SignedIn, WebApp, WebDeps } from '../../context.ts'
import type { SignInParts } from '../routes.ts'
import { readNewPassword } from '../new-password.ts'
import { openSession } from '../open-session.ts'
import { bindSignInForm, isOwnSignInForm } from '../sign-in-form.ts'
import { invitationPage } from './page.ts'
import type { InvitationPage } from './page.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { createLocalUser } from '../../../platform/people/users.ts'

const PATH = '/invitations/:token'
type Shown = Pick<InvitationPage, 'typed' | 'problem'>

/** Serves the links of invitations, for people with an account and for those without. */
export function invitationLinkRoutes(deps: WebDeps, parts: SignInParts): Hono<WebApp> {
  const { sql, config } = deps
  const routes = new Hono<WebApp>()
  const passwords = config.AUTH_PASSWORDS === 'on'
  const provider = parts.provider?.name

  async function show(c: Context<WebApp>, invitation: Invitation, shown: Shown = {}) {
    const session = await readSession(c, deps)
    const csrfToken = session?.csrfToken ?? bindSignInForm(c, deps)
    const signedInAs = session?.user.email ?? session?.user.name
    const view = { invitation, path: c.req.path.replace(/\/account$/, ''), csrfToken, signedInAs }
    return invitationPage({ ...view, provider, passwords, ...shown })
  }

  routes.get(PATH, declareRight('anybody'), async (c) =>
    c.html(await show(c, await getInvitation(c, deps))),
  )
  routes.route('/', joinRoutes(deps))
  if (!passwords) return routes

  routes.post(`${PATH}/account`, declareRight('anybody'), async (c) => {
    requireSameOrigin(c, config.PLATFORM_BASE_URL)
    const form = await readForm(c.req.raw)
    const invitation = await getInvitation(c, deps)
    const typed = readAccount(form)
    const refuse = async (problem: string, status: 403 | 409 | 422) =>
      c.html(await show(c, invitation, { typed, problem }), status)
    if (!isOwnSignInForm(c, form, deps)) return refuse(formExpired().message, 403)
    const problem = accountProblem(typed)
    if (problem !== undefined) return refuse(problem, 422)
    const password = await readNewPassword(form, parts.passwords)
    if ('problem' in password) return refuse(password.problem, 422)
    const link = { token: c.req.param('token'), organizationId: invitation.organizationId }
    const account = { ...typed, passwordHash: password.hash }
    try {
      const userId = await sql.begin(async (tx) => {
        const { id, accepted } = await joinWithNewAccount(tx, link, account)
        const { email: name } = typed
        const who = { kind: 'person', id: String(id), name, organizationId: null } as const
        await writeAudit(tx, actorOf(c, deps, who), acceptedEntry(accepted))
        return id
      })
      await openSession(c, deps, { sql, userId })
      Object.assign(c.var.wide, { audit: 'invitation_accepted', user_id: userId })
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code === 'conflict') {
        return refuse(thrown.message, 409)
      }
      throw thrown
    }
    return c.redirect('/?notice=joined', 303)
  })

  return routes
}

/** Lets whoever is signed in join with the account of the session. */
function joinRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const form = requireForm(config.PLATFORM_BASE_URL)
  routes.post(PATH, declareRight('person'), requireSession(deps), form, async (c) => {
    const { id: userId } = c.var.session.user
    const token = c.req.param('token')
    const accept = async (tx: Transaction): Promise<Accepted> => {
      const accepted = await acceptInvitation(tx, { token, userId })
      await enterOrganization(tx, sessionToken(c, config) ?? '', accepted.organizationId)
      return accepted
    }
    await audited(c.var, accept, acceptedEntry)
    return c.redirect('/?notice=joined', 303)
  })
  return routes
}

const acceptedEntry = ({ id, organizationId, role }: Accepted): AuditEntry => ({
  action: 'invitation_accepted',
  organizationId,
  target: { kind: 'invitation', id },
  after: { role },
})

async function getInvitation(c: Context<WebApp>, { sql }: WebDeps): Promise<Invitation> {
  const invitation = await findInvitation(sql, c.req.param('token') ?? '')
  if (invitation) return invitation
  throw invitationOver()
}

const EMAIL_LENGTH_MAX = 254
const NAME_LENGTH_MAX = 200

/** A person as typed, who wants an account. */
interface TypedAccount {
  readonly name: string
  readonly email: string
}

/** Reads an account from its form. */
const readAccount = (form: URLSearchParams): TypedAccount => ({
  name: (form.get('name') ?? '').trim(),
  email: (form.get('email') ?? '').trim().toLowerCase(),
})

/** Returns what is wrong with an account; undefined when nothing is. */
function accountProblem({ name, email }: TypedAccount): string | undefined {
  if (name === '') return 'Enter your name.'
  if (name.length > NAME_LENGTH_MAX) {
    return `A name must have at most ${NAME_LENGTH_MAX} characters; this one has ${name.length}.`
  }
  if (/\p{Cc}/u.test(name)) return 'A name must have no control characters.'
  const isAddress = /^[^@\s\p{Cc}]+@[^@\s\p{Cc}]+$/u.test(email)
  return isAddress && email.length <= EMAIL_LENGTH_MAX
    ? undefined
    : 'Enter an email address, such as grace@example.com.'
}

/**
 * Creates a local account and makes it a member by an invitation. Returns the id of the person, and
 * what was accepted. Raises `conflict` for an address that has an account, and `not_found` when
 * somebody else was faster.
 */
async function joinWithNewAccount(
  sql: Transaction,
  { token, organizationId }: Pick<Invitation, 'organizationId'> & { token: string },
  account: TypedAccount & { readonly passwordHash: string },
): Promise<{ id: number; accepted: Accepted }> {
  const userId = await createLocalUser(sql, { organizationId, ...account })
  if (userId === undefined) {
    throw new AppError(
      'conflict',
      'There is an account with this address already. Sign in with it to join.',
    )
  }
  return { id: userId, accepted: await acceptInvitation(sql, { token, userId }) }
}
