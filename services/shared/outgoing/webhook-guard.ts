import type { ForwardProxy } from './forward-proxy.ts'
import { createOutgoingGuard } from './guard.ts'
import type { OutgoingGuard } from './guard.ts'

/** Stands before every call to the address of a webhook. */
export const createWebhookGuard = (
  privateOrigins: readonly string[],
  proxy?: ForwardProxy,
): OutgoingGuard =>
  createOutgoingGuard({
    privateOrigins,
    proxy,
    setting: 'WEBHOOK_PRIVATE_ORIGINS (chart: outgoing.webhookPrivateOrigins)',
  })
