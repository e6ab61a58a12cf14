import type { CallableAutomation } from '../../../platform/automations/automation-oauth.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import { recordClient } from '../../../platform/automations/client-sightings.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Gate, TokenContext, Verdict } from '../../gate/access-token/gate.ts'
import type { Reason } from '../../gate/access-token/rule.ts'
import type { BearerResult, BearerScheme } from './bearer.ts'

/** Refusals of a client that may be good elsewhere: its id helps people who bind automations. */
const CLIENT_REASONS: readonly Reason[] = [
  'automation_not_bound',
  'client_mismatch',
  'insufficient_scope',
]
const SAME_CLIENT_MS = 60_000
const OTHER_CLIENT_MS = 5000
const AUTOMATIONS_MAX = 10_000

/** Options of `oauthBearer`. */
interface OauthBearerOptions {
  readonly sql: Database
  readonly gate: Gate
  /** In milliseconds. */
  readonly now: () => number
}

/**
 * Accepts access tokens of the organization's own identity provider, by OAuth 2.0 client
 * credentials (SPEC 5.2, 5.3).
 */
export function oauthBearer({
  sql,
  gate,
  now,
}: OauthBearerOptions): BearerScheme<CallableAutomation, Automation> {
  const record = createSightings(sql, now)
  return {
    name: 'oauth',
    recognizes: (token) => token.includes('.'),
    async verify(token, callable) {
      const { automation, oauth } = callable ?? {}
      if (!automation || !oauth?.enabled) {
        await gate.refuse(token)
        return { ok: false, reason: 'oauth_off' }
      }
      const { organizationId, oauthClientId: boundClient } = automation
      const context = { organizationId, settings: oauth, boundClient }
      const result = toOauthResult(await gate.decide(token, context), context, automation)
      if (result.client !== undefined) await record(automation.id, result.client)
      return result
    },
  }
}

/** Says what the gate decided about a token, and what it opens. */
export function toOauthResult<Opened>(
  verdict: Verdict,
  { organizationId, settings }: TokenContext,
  opened: Opened,
): BearerResult<Opened> {
  const client = clientOf(verdict)
  if (!verdict.accepted) {
    return { ok: false, reason: verdict.reason, scope: settings.scope, client }
  }
  const name = client ?? 'an unnamed client'
  return {
    ok: true,
    client,
    by: { kind: 'client', id: client ?? null, name, organizationId },
    opened,
  }
}

function clientOf(verdict: Verdict): string | undefined {
  if (!verdict.accepted && !CLIENT_REASONS.includes(verdict.reason)) return undefined
  const client = verdict.parsed?.client
  return client?.ok ? client.id : undefined
}

/** Records the last client of each automation, once a minute, or every 5 s if it is another one. */
function createSightings(sql: Database, now: () => number) {
  const recorded = new Map<number, { client: string; at: number }>()
  return async function record(automationId: number, client: string): Promise<void> {
    const last = recorded.get(automationId)
    const waitMs = last?.client === client ? SAME_CLIENT_MS : OTHER_CLIENT_MS
    if (last && now() - last.at < waitMs) return
    if (recorded.size >= AUTOMATIONS_MAX) recorded.clear()
    recorded.set(automationId, { client, at: now() })
    await recordClient(sql, automationId, client)
  }
}
