import { createHmac, randomUUID } from 'node:crypto'
import { sign } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import {
  createTrigger,
  replaceTriggerSecret,
} from '../../../../../services/platform/triggers/triggers.ts'
import type { Trigger, TriggerFields } from '../../../../../services/platform/triggers/triggers.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../../../../services/platform/webhooks/webhook-keys.ts'
import { BASE_URL, SECRET } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

/** A trigger whose secret is known. */
export interface OpenTrigger {
  readonly trigger: Trigger
  readonly secret: string
}

const seal = (secret: string, key: Pick<Trigger, 'id' | 'deploymentId'>): Buffer =>
  createWebhookKeys(SECRET).seal(secret, key)

/** Creates a trigger that starts runs on a topic. */
export async function makeTrigger(
  { sql, acme }: Pick<Platform, 'sql' | 'acme'>,
  fields: Partial<TriggerFields> = {},
): Promise<OpenTrigger> {
  const key = { id: randomUUID(), deploymentId: acme.research.id }
  const secret = createWebhookSecret()
  const trigger = await createTrigger(sql, key, {
    name: 'Events',
    scheme: 'standard_webhooks',
    header: null,
    filter: null,
    deliveryPath: null,
    inputs: { topic: '{{ $.body.topic }}' },
    sealedKey: seal(secret, key),
    ...fields,
  })
  return { trigger, secret }
}

/** Replaces the secret of a trigger, and returns the new one. */
export async function rotate({ sql }: Pick<Platform, 'sql'>, { trigger }: OpenTrigger) {
  const secret = createWebhookSecret()
  await replaceTriggerSecret(sql, trigger, seal(secret, trigger))
  return { trigger, secret }
}

/** What a sender may do otherwise than usual. */
export interface Delivery {
  readonly id?: string
  readonly at?: Date
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Signs a body as Standard Webhooks has it, with its library. */
export function standardHeaders(secret: string, body: string, given: Delivery = {}) {
  const { id = randomUUID(), at = new Date() } = given
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
    ...given.headers,
  }
}

/** Signs a body as GitHub does, with its library. */
export const githubHeaders = async (secret: string, body: string, event = 'push') => ({
  'content-type': 'application/json',
  'x-github-event': event,
  'x-github-delivery': randomUUID(),
  'x-hub-signature-256': await sign(secret, body),
})

const hmac = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('hex')

/** Signs a body as Stripe does, by its documentation. */
export function stripeHeaders(secret: string, body: string, at = Math.floor(Date.now() / 1000)) {
  const signature = `t=${at},v1=${hmac(secret, `${at}.${body}`)}`
  return { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature }
}

/** Signs a body as Slack does, by its documentation. */
export function slackHeaders(secret: string, body: string, type = 'application/json') {
  const at = Math.floor(Date.now() / 1000)
  return {
    'content-type': type,
    'x-slack-request-timestamp': String(at),
    'x-slack-signature': `v0=${hmac(secret, `v0:${at}:${body}`)}`,
  }
}

/** Posts to the address of a trigger. */
export const postTo = async (
  { app }: Pick<Platform, 'app'>,
  id: string,
  init: { readonly headers: Record<string, string>; readonly body: string },
): Promise<Response> => app.request(`${BASE_URL}/hooks/${id}`, { method: 'POST', ...init })
