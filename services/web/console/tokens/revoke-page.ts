import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedToken } from '../../../platform/automations/static-tokens.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import type { Html } from '../frame/parts.ts'

/** The question before a token is revoked. */
export function revokePage(session: Session, token: ListedToken): Html {
  const calls = `all automations of ${session.organization}`
  return confirmPage({
    session,
    current: '/tokens',
    crumbs: [{ path: '/tokens', name: 'Tokens' }],
    question: `Revoke the token ${token.name}?`,
    consequence:
      `Every system that uses it loses access to ${token.automationName ?? calls}, from the next ` +
      'call on. A revoked token cannot be restored.',
    action: `/tokens/${token.id}/revoke`,
    verb: 'Revoke',
    back: '/tokens',
  })
}
