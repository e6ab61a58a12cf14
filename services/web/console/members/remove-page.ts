import type { Member } from '../../../platform/people/members.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { MEMBERS_PATH } from '../frame/addresses.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import type { Html } from '../frame/parts.ts'

/** The question before a membership ends. */
export function removePage(session: Session, { userId, name, claimedRole }: Member): Html {
  const isSelf = userId === session.user.id
  const stays = 'What they made stays, and so do the tokens that they issued.'
  return confirmPage({
    session,
    current: MEMBERS_PATH,
    crumbs: [{ path: MEMBERS_PATH, name: 'Members' }],
    question: isSelf ? `Leave ${session.organization}?` : `Remove ${name}?`,
    consequence:
      claimedRole === null
        ? `From the next request on ${isSelf ? 'you have' : 'they have'} no access to ` +
          `${session.organization}. ${isSelf ? 'What you made stays.' : stays}`
        : `What is left is the role ${claimedRole}, which groups of the identity provider give.`,
    action: `${MEMBERS_PATH}/${userId}/remove`,
    verb: isSelf ? 'Leave' : 'Remove',
    back: MEMBERS_PATH,
  })
}
