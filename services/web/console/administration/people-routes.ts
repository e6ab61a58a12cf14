import { Hono } from 'hono'
import type { Context } from 'hono'
import { disableUser, enableUser } from '../../../platform/people/accounts.ts'
import {
  deletePerson,
  findPerson,
  keepAnAdministrator,
  listPeople,
} from '../../../platform/people/people.ts'
import type { Person } from '../../../platform/people/people.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Queryable } from '../../../shared/postgres/database.ts'
import { requireAdministrator } from '../../gate/callers/administrator.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { plural } from '../frame/format.ts'
import { isIdCursor, readPageRequest } from '../frame/lists/page-request.ts'
import { noticeOf } from '../frame/notices.ts'
import type { Html } from '../frame/parts.ts'
import { personEntry } from './person-entry.ts'
import { PEOPLE_PATH, peoplePage } from './people-page.ts'
import { resetLinkRoutes } from './reset-link-routes.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'

const ONE = `${PEOPLE_PATH}/:userId`

interface Change {
  readonly path: string
  readonly action: string
  readonly notice: string
  readonly change: (tx: Queryable, id: number) => Promise<unknown>
}

const CHANGES: readonly Change[] = [
  { path: 'disable', action: 'user_disabled', notice: 'person-disabled', change: disableUser },
  { path: 'enable', action: 'user_enabled', notice: 'person-enabled', change: enableUser },
  { path: 'delete', action: 'user_deleted', notice: 'person-deleted', change: deletePerson },
]

/** Serves all people to administrators of the platform, and 404 to anybody else. */
export function peopleRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const administrator = requireAdministrator(deps)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const passwords = config.AUTH_PASSWORDS === 'on'

  async function show(c: Context<SignedIn>, problem?: string) {
    const request = readPageRequest(c, isIdCursor)
    const page = await listPeople(sql, request)
    const notice = problem ? undefined : noticeOf(c.req.query('notice'))
    return peoplePage({ session: c.var.session, page, request, passwords, notice, problem })
  }

  /** Finds the person of the path; administrators do nothing of this to themselves. */
  async function getOther(c: Context<SignedIn>): Promise<Person> {
    const text = c.req.param('userId') ?? ''
    const person = isIdCursor(text) ? await findPerson(sql, Number(text)) : undefined
    if (!person) throw new AppError('not_found', 'There is no such account.')
    if (person.id !== c.var.session.user.id) return person
    throw new AppError('conflict', 'This is your own account. Ask another administrator.')
  }

  routes.get(PEOPLE_PATH, declareRight('platform-admin'), administrator, async (c) =>
    c.html(await show(c)),
  )

  routes.get(`${ONE}/delete`, declareRight('platform-admin'), administrator, async (c) =>
    c.html(deletePage(c.var.session, await getOther(c))),
  )

  for (const { path, action, notice, change } of CHANGES) {
    routes.post(
      `${ONE}/${path}`,
      declareRight('platform-admin'),
      administrator,
      form,
      async (c) => {
        const person = await getOther(c)
        try {
          await audited(
            c.var,
            (tx) => keepAnAdministrator(tx, (inner) => change(inner, person.id)),
            personEntry(action, person),
          )
        } catch (thrown) {
          if (!(thrown instanceof AppError) || thrown.code !== 'conflict') throw thrown
          return c.html(await show(c, thrown.message), 409)
        }
        return c.redirect(`${PEOPLE_PATH}?notice=${notice}`, 303)
      },
    )
  }

  routes.route('/', resetLinkRoutes(deps, { getOther, show }))
  return routes
}

/** The question before an account is deleted. */
const deletePage = (session: Session, person: Person): Html =>
  confirmPage({
    session,
    current: PEOPLE_PATH,
    crumbs: [{ path: PEOPLE_PATH, name: 'People' }],
    question: `Delete the account of ${person.name}?`,
    consequence: consequenceOf(person),
    action: `${PEOPLE_PATH}/${person.id}/delete`,
    verb: 'Delete',
    back: PEOPLE_PATH,
  })

function consequenceOf({ liveTokens, isLocal }: Person): string {
  const tokens =
    liveTokens === 0
      ? ''
      : ` ${plural(liveTokens, 'token')} issued by this account still work; revoke them in their ` +
        'organizations.'
  const again = isLocal ? '' : ' The identity provider may let them sign in anew: end that there.'
  return `Their sessions and memberships end. What they made stays.${tokens}${again}`
}
