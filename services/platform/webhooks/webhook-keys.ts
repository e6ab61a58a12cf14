import { randomBytes } from 'node:crypto'
import { sealsOf } from '../../shared/vault.ts'
import type { Seals } from '../../shared/vault.ts'
import type { WebhookKey } from './webhooks.ts'

const KEY_BYTES = 32
/** As Standard Webhooks writes a symmetric key. */
const PREFIX = 'whsec_'

/** Seals the keys of webhooks and triggers. */
export type WebhookKeys = Seals<WebhookKey>

/** Creates the seals from SECRET_KEY_BASE and, while it is rotated, the previous one. */
export const createWebhookKeys = sealsOf(
  'crew-platform webhook key',
  ({ deploymentId, id }: WebhookKey) => `${deploymentId}/${id}`,
)

/** Creates a key for signatures: `whsec_…`. */
export const createWebhookSecret = (): string =>
  `${PREFIX}${randomBytes(KEY_BYTES).toString('base64')}`

/** Returns the bytes of a key. */
export const bytesOfWebhookSecret = (secret: string): Buffer =>
  Buffer.from(secret.slice(PREFIX.length), 'base64')
