import type { Context } from 'hono'
import type { Actor } from '../../../platform/audit/audit.ts'
import type { User } from '../../../platform/people/users.ts'
import type { WebDeps } from '../../context.ts'
import { clientAddress } from './client-address.ts'

/** Who calls, apart from where from. */
export type CallerIdentity = Pick<Actor, 'kind' | 'id' | 'name' | 'organizationId'>

/** Returns who acts in a request, for the audit. */
export const actorOf = (c: Context, deps: Pick<WebDeps, 'config'>, who: CallerIdentity): Actor => ({
  ...who,
  address: clientAddress(c, deps.config.TRUSTED_PROXIES),
  requestId: c.get('requestId'),
})

/** Returns a person as the audit names one. */
export const toIdentity = ({ id, organizationId, email, name }: User): CallerIdentity => ({
  kind: 'person',
  id: String(id),
  name: email ?? name,
  // Somebody may be a member of none.
  organizationId: organizationId || null,
})
