import { randomBytes } from 'node:crypto'
import { createVault } from '../../shared/vault.ts'
import type { WebhookKey } from './webhooks.ts'

const KEY_BYTES = 32
/** As Standard Webhooks writes a symmetric key. */
const PREFIX = 'whsec_'

/** Seals the keys of webhooks and triggers, and opens them for those who use them. */
export interface WebhookKeys {
  seal(key: string, webhook: WebhookKey): Buffer
  /** Undefined when it was sealed with another SECRET_KEY_BASE, or for another webhook. */
  open(sealed: Buffer, webhook: WebhookKey): string | undefined
  /** Returns the key sealed anew when it was sealed with the previous SECRET_KEY_BASE. */
  reseal(sealed: Buffer, webhook: WebhookKey): Buffer | undefined
}

/** Seals with SECRET_KEY_BASE; while it is rotated, the previous one still opens what it sealed. */
export function createWebhookKeys(secretKeyBase: string, previous?: string): WebhookKeys {
  const label = 'crew-platform webhook key'
  const vault = createVault({ label, current: secretKeyBase, previous })
  const placeOf = ({ deploymentId, id }: WebhookKey): string => `${deploymentId}/${id}`
  return {
    seal: (key, webhook) => vault.seal(key, placeOf(webhook)),
    open: (sealed, webhook) => vault.open(sealed, placeOf(webhook))?.secret,
    reseal(sealed, webhook) {
      const opened = vault.open(sealed, placeOf(webhook))
      if (!opened || opened.isCurrent) return undefined
      return vault.seal(opened.secret, placeOf(webhook))
    },
  }
}

/** Creates a key for signatures: `whsec_…`. */
export const createWebhookSecret = (): string =>
  `${PREFIX}${randomBytes(KEY_BYTES).toString('base64')}`

/** Returns the bytes of a key. */
export const bytesOfWebhookSecret = (secret: string): Buffer =>
  Buffer.from(secret.slice(PREFIX.length), 'base64')
