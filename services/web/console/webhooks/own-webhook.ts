import type { Context } from 'hono'
import type { Automation } from '../../../platform/automations.ts'
import { findWebhook } from '../../../platform/webhooks.ts'
import type { Webhook, WebhookKey } from '../../../platform/webhooks.ts'
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

/** Adds to the log of the request what was done to which webhook. */
export function audit(c: Context<SignedIn>, event: string, { id }: WebhookKey): void {
  Object.assign(c.var.wide, { audit: event, webhook_id: id })
}
