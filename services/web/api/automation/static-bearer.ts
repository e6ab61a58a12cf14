import { findAutomationToken, isStaticToken } from '../../../platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { BearerScheme } from './bearer.ts'

/** An automation that owns no token. */
const NOWHERE = { id: 0, organizationId: 0 }

/**
 * Accepts static bearer tokens, the default mode of the automation API (SPEC 5.2), for calls that
 * take a scope.
 */
export function staticBearer(sql: Database, scope: TokenScope): BearerScheme {
  return {
    name: 'static_token',
    recognizes: isStaticToken,
    async verify(token, callable, address) {
      const { automation, oauth } = callable ?? {}
      const isOff = oauth?.enabled === true && !oauth.staticTokensAllowed
      // The same statement with or without an automation: the time tells nothing either.
      const target = automation && !isOff ? automation : NOWHERE
      const use = { automation: target, scopes: [scope], address }
      const found = await findAutomationToken(sql, token, use)
      if (!found) return { ok: false, reason: isOff ? 'static_tokens_off' : 'unknown_static_token' }
      if (found.refusal !== undefined) return { ok: false, reason: found.refusal, scope }
      return { ok: true, by: { kind: 'token', id: String(found.id), name: found.name } }
    },
  }
}
