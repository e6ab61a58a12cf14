import { createHash } from 'node:crypto'
import type { Session } from '../../../platform/people/sessions.ts'

/**
 * Returns a text that is the same for as long as a session lasts, and tells nothing of it: only the
 * session that began an authorization may complete it.
 */
export const bindingOf = ({ csrfToken, user }: Session): string =>
  createHash('sha256').update(`connection/${user.id}/${csrfToken}`).digest('base64url')
