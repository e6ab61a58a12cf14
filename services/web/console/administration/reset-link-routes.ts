import { Hono } from 'hono'
import type { Context } from 'hono'
import { createAccountLink, LINK_MINUTES } from '../../../platform/people/account-links.ts'
import type { Person } from '../../../platform/people/people.ts'
import { requireAdministrator } from '../../gate/callers/administrator.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { requireForm } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { mailLink } from '../../mail/mail-link.ts'
import { newLinkPage } from '../frame/new-link-page.ts'
import type { Html } from '../frame/parts.ts'
import { PEOPLE_PATH } from './people-page.ts'
import { personEntry } from './person-entry.ts'

interface PeopleDesk {
  readonly getOther: (c: Context<SignedIn>) => Promise<Person>
  readonly show: (c: Context<SignedIn>, problem?: string) => Promise<Html>
}

/** Makes links to a new password, for people who lost theirs. */
export function resetLinkRoutes(deps: WebDeps, { getOther, show }: PeopleDesk): Hono<SignedIn> {
  const { sql, config } = deps
  const routes = new Hono<SignedIn>()
  const audited = createAudited(sql)
  const form = requireForm(config.PLATFORM_BASE_URL)
  const passwords = config.AUTH_PASSWORDS === 'on'

  routes.post(`${PEOPLE_PATH}/:userId/reset`, requireAdministrator(deps), form, async (c) => {
    const person = await getOther(c)
    const request = { userId: person.id, purpose: 'password' } as const
    const token: string | undefined = await audited(
      c.var,
      async (tx) => (passwords ? createAccountLink(tx, request) : undefined),
      (made) => (made === undefined ? undefined : personEntry('password_link_created', person)),
    )
    if (token === undefined) {
      const problem = 'This account has no password here that could be changed.'
      return c.html(await show(c, problem), 409)
    }
    const url = `${config.PLATFORM_BASE_URL}/reset-password/${token}`
    const text =
      `A person who opens this link within ${LINK_MINUTES.password / 60} hours can give the ` +
      `account of ${person.name} a new password, once. It replaces an earlier link.`
    const title = 'A new password'
    const mailed = await mailLink(c.var.actor, deps, {
      to: person.email ?? '',
      subject: title,
      text,
      url,
    })
    const { session } = c.var
    const back = { path: PEOPLE_PATH, name: 'People' }
    return c.html(newLinkPage({ session, current: PEOPLE_PATH, title, text, url, back, mailed }))
  })

  return routes
}
