import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import type { AuditEntry } from '../../../platform/audit.ts'
import type { Automation } from '../../../platform/automations.ts'
import { findWebhook } from '../../../platform/webhooks.ts'
import type { Webhook } from '../../../platform/webhooks.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { SignedIn } from '../../context.ts'
import { getOwnAutomation } from '../frame/own-automation.ts'

/** Returns the webhook of the path with its automation. Raises `not_found`. */
export async function getOwnWebhook(
  c: Context<SignedIn>,
  sql: Database,
): Promise<{ automation: Automation; webhook: Webhook }> {
  const automation = await getOwnAutomation(c, sql)
  const key = { id: c.req.param('webhookId') ?? '', deploymentId: automation.id }
  const webhook = await findWebhook(sql, key)
  if (webhook) return { automation, webhook }
  throw new AppError('not_found', 'This automation has no such webhook.')
}

/** Returns an entry of the audit about a webhook that was created, deleted or used. */
export const entryOf = (action: string, { id, url }: Pick<Webhook, 'id' | 'url'>): AuditEntry => ({
  action,
  target: { kind: 'webhook', id, name: new URL(url).origin },
})

/**
 * Returns what the audit tells of the fields of a webhook. Receivers know callers by the path or
 * the query of their address: it is told by its origin and a digest.
 */
export const factsOf = ({ url, eventTypes }: Pick<Webhook, 'url' | 'eventTypes'>) => ({
  origin: new URL(url).origin,
  url_sha256: createHash('sha256').update(url).digest('hex'),
  event_types: eventTypes,
})
