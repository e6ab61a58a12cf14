import { acceptStaticToken, isStaticToken } from '../../platform/static-tokens.ts'
import type { Database } from '../../shared/database.ts'
import { refuseToken } from './bearer.ts'
import type { BearerScheme } from './bearer.ts'

/** Owns no token. */
const NOWHERE = { id: 0, organizationId: 0 }

/** Static bearer tokens, the default mode of the automation API (SPEC 5.2). */
export function staticBearer(sql: Database): BearerScheme {
  return {
    name: 'static_token',
    recognizes: isStaticToken,
    async verify(token, automation) {
      // The same statement with or without an automation: the time tells nothing either.
      const accepted = await acceptStaticToken(sql, token, automation ?? NOWHERE)
      return accepted ? { ok: true } : refuseToken('unknown_static_token')
    },
  }
}
