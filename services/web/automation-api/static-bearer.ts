import { acceptStaticToken, isStaticToken } from '../../platform/static-tokens.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { BearerScheme } from './bearer.ts'

/** An automation that owns no token. */
const NOWHERE = { id: 0, organizationId: 0 }

/** Accepts static bearer tokens, the default mode of the automation API (SPEC 5.2). */
export function staticBearer(sql: Database): BearerScheme {
  return {
    name: 'static_token',
    recognizes: isStaticToken,
    async verify(token, callable) {
      const { automation, oauth } = callable ?? {}
      const isOff = oauth?.enabled === true && !oauth.staticTokensAllowed
      // The same statement with or without an automation: the time tells nothing either.
      const target = automation && !isOff ? automation : NOWHERE
      const accepted = await acceptStaticToken(sql, token, target)
      if (accepted) {
        return { ok: true, by: { kind: 'token', id: String(accepted.id), name: accepted.name } }
      }
      return { ok: false, reason: isOff ? 'static_tokens_off' : 'unknown_static_token' }
    },
  }
}
