import type { Context, Hono } from 'hono'
import type { Member } from '../../../platform/people/members.ts'
import { removeMember } from '../../../platform/people/memberships.ts'
import { AppError } from '../../../shared/errors.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { MEMBERS_PATH } from '../frame/addresses.ts'
import { membersPage } from './page.ts'
import { removePage } from './remove-page.ts'
import type { ReadMembersPage } from './page.ts'
import { createRoom } from '../frame/room.ts'

interface MembersDesk {
  readonly readPage: ReadMembersPage
  readonly getMember: (c: Context<SignedIn>) => Promise<Member>
}

/** Ends memberships of the session's organization, after a question. */
export function removalRoutes(deps: WebDeps, { readPage, getMember }: MembersDesk): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const audited = createAudited(sql)

  room.page('admin', `${MEMBERS_PATH}/:userId/remove`, async (c) =>
    c.html(removePage(c.var.session, await getMember(c))),
  )

  room.form('admin', `${MEMBERS_PATH}/:userId/remove`, async (c) => {
    const { userId, name, email, role } = await getMember(c)
    const { id, organizationId } = c.var.session.user
    try {
      const target = { kind: 'user', id: userId, name: email ?? name }
      const entry = { action: 'member_removed', target, before: { role } }
      await audited(c.var, (tx) => removeMember(tx, { userId, organizationId }), entry)
    } catch (thrown) {
      return c.html(membersPage(await readPage(c, { problem: conflictOf(thrown) })), 409)
    }
    return c.redirect(userId === id ? '/' : `${MEMBERS_PATH}?notice=member-removed`, 303)
  })

  return room.routes
}

/** Returns what people are told of a conflict. Raises anything else. */
export function conflictOf(thrown: unknown): string {
  if (thrown instanceof AppError && thrown.code === 'conflict') return thrown.message
  throw thrown
}
