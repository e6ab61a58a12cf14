import type { CallableAutomation } from '../../../platform/automations/automation-oauth.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { findAutomationToken } from '../../../platform/automations/static-token-use.ts'
import type { FoundAutomationToken } from '../../../platform/automations/static-token-use.ts'
import { isStaticToken } from '../../../platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { BearerResult, BearerScheme } from './bearer.ts'

/** An automation that owns no token. */
const NOWHERE = { id: 0, organizationId: 0 }

/**
 * Accepts static bearer tokens, the default mode of the automation API (SPEC 5.2), for calls that
 * take all of some scopes.
 */
export function staticBearer(
  sql: Database,
  scopes: readonly TokenScope[],
): BearerScheme<CallableAutomation, Automation> {
  return {
    name: 'static_token',
    recognizes: isStaticToken,
    async verify(token, callable, address) {
      const { automation, oauth } = callable ?? {}
      const isOff = oauth?.enabled === true && !oauth.staticTokensAllowed
      // The same statement with or without an automation: the time tells nothing either.
      const target = automation && !isOff ? automation : NOWHERE
      const found = await findAutomationToken(sql, token, { automation: target, scopes, address })
      if (isOff && !found) return { ok: false, reason: 'static_tokens_off' }
      if (!found || !automation) return UNKNOWN_TOKEN
      return toStaticResult(
        { ...found, organizationId: automation.organizationId },
        scopes,
        automation,
      )
    },
  }
}

/** The refusal of a token that is none, or is not for the call. */
export const UNKNOWN_TOKEN = { ok: false, reason: 'unknown_static_token' } as const

/** Decides about a static token of the target, for calls that take all of the scopes. */
export function toStaticResult<Opened>(
  token: FoundAutomationToken & { readonly organizationId: number },
  scopes: readonly TokenScope[],
  opened: Opened,
): BearerResult<Opened> {
  const { id, name, organizationId, refusal } = token
  const lacking = scopes.find((each) => !token.scopes.includes(each))
  if (refusal !== undefined || lacking !== undefined) {
    return { ok: false, reason: refusal ?? 'insufficient_scope', scope: lacking }
  }
  return { ok: true, by: { kind: 'token', id: String(id), name, organizationId }, opened }
}
