import { createHmac } from 'node:crypto'
import * as v from 'valibot'
import { regionProblem } from '../../platform/connections/regions.ts'
import { bytesOfWebhookSecret } from '../../platform/webhooks/webhook-keys.ts'
import type { WebhookKeys } from '../../platform/webhooks/webhook-keys.ts'
import type {
  WebhookAttempt,
  WebhookHead,
  WebhookLine,
} from '../../platform/webhooks/webhook-outbox.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { readAddress } from '../../shared/outgoing/address.ts'
import type { OutgoingGuard } from '../../shared/outgoing/guard.ts'
import { postJson } from '../../shared/outgoing/post-json.ts'
import { toTaskStatus } from '../../platform/a2a/task-status.ts'
import { RUN_STATUSES } from '../../platform/runs/runs.ts'

/** The means to send a message. */
export interface PostDeps {
  readonly guard: OutgoingGuard
  readonly keys: WebhookKeys
  /** For each try, from the look-up of the name to the head of the answer. */
  readonly timeoutMs: number
}

/**
 * Sends a message once, signed as Standard Webhooks has it; nothing outside of the regions of its
 * organization. Only the status of the answer counts;
 * its body is never read, and no redirect is followed. Raises the reason of the signal.
 */
export async function postMessage(
  { guard, keys, timeoutMs }: PostDeps,
  { line, head }: { readonly line: WebhookLine; readonly head: WebhookHead },
  signal: AbortSignal,
): Promise<WebhookAttempt> {
  const started = performance.now()
  const ended = (status: number | null, problem: string | null): WebhookAttempt => ({
    status,
    problem,
    durationMs: Math.round(performance.now() - started),
  })
  const secrets = openSecrets(keys, { line, head })
  const body = bodyOf(head)
  const outside = regionProblem(head.allowedRegions, head)
  if (outside !== undefined) return ended(null, `Not sent: its region ${outside}.`)
  if (secrets.length === 0) return ended(null, UNREADABLE_KEY)
  try {
    const url = readAddress(head.url, 'The address of the webhook')
    const { status } = await deadline({ name: url.host, timeoutMs, signal }, async (stop) =>
      postJson({
        url,
        headers: { ...headersOf({ ...head, payload: body }, secrets), ...PLAIN },
        body,
        responseBytesMax: 0,
        signal: stop,
        route: await guard.pin(url, {
          subject: `organization ${head.organizationId}`,
          signal: stop,
        }),
      }),
    )
    return ended(status, problemOf(status))
  } catch (thrown) {
    signal.throwIfAborted()
    return ended(null, explain(toError(thrown), timeoutMs))
  }
}

const UNREADABLE_KEY =
  'The key of this webhook cannot be read with SECRET_KEY_BASE. Give the webhook a new key.'

function openSecrets(
  keys: WebhookKeys,
  { line, head }: { readonly line: WebhookLine; readonly head: WebhookHead },
): string[] {
  const webhook = { id: line.webhookId, deploymentId: head.deploymentId }
  return [head.sealedKey, head.sealedPreviousKey]
    .map((sealed) => (sealed ? keys.open(sealed, webhook) : undefined))
    .filter((secret) => secret !== undefined)
}

const PLAIN = { 'user-agent': 'platform-webhooks', connection: 'close' }

const taskHeaders = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.string()))

function headersOf(
  { messageId, payload, runId }: WebhookHead,
  secrets: readonly string[],
): Record<string, string> {
  if (runId !== null) return v.parse(taskHeaders, secrets[0])
  const id = `msg_${messageId}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', bytesOfWebhookSecret(secret))
    return `v1,${hmac.update(`${id}.${timestamp}.${payload}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400
    ? `It answered HTTP ${status}, a redirect, which is not followed. Enter the address behind it.`
    : `It answered HTTP ${status}.`
}

function explain(error: Error, timeoutMs: number): string {
  if (error instanceof AppError) {
    return error.code === 'timeout' ? `It did not answer within ${timeoutMs} ms.` : error.message
  }
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return `It could not be reached${code}.`
}

/** Less than Slack and Teams take. */
const CHARACTERS_MAX = 3000

/** Events of crews may have anything else under the name. */
const text = v.fallback(v.optional(v.string()), undefined)
const message = v.object({
  type: v.string(),
  data: v.object({ text, automation_id: text, kickoff_id: text }),
})

const taskStatus = v.object({
  timestamp: v.string(),
  data: v.object({
    kickoff_id: v.string(),
    context_id: v.string(),
    status: v.picklist(RUN_STATUSES),
    error: v.nullable(v.object({ code: v.string(), message: v.string() })),
  }),
})

/** Returns the body of a message in the form of its webhook. */
function bodyOf({
  payload,
  format,
  runId,
}: Pick<WebhookHead, 'payload' | 'format' | 'runId'>): string {
  if (runId !== null) return taskBody(payload)
  if (format === 'standard') return payload
  const words = textOf(v.parse(message, JSON.parse(payload)))
  return JSON.stringify(format === 'slack' ? { text: forSlack(words) } : cardOf(words))
}

/** As the HTTP binding of A2A has it. */
function taskBody(payload: string): string {
  const { timestamp: at, data } = v.parse(taskStatus, JSON.parse(payload))
  const { kickoff_id: taskId, context_id: contextId, ...facts } = data
  const status = toTaskStatus({ taskId, contextId, at, ...facts })
  return JSON.stringify({ statusUpdate: { taskId, contextId, status } })
}

/** Of alerts what they say themselves; of events of runs which run it was. */
function textOf({ type, data }: v.InferOutput<typeof message>): string {
  if (data.text !== undefined) return data.text.slice(0, CHARACTERS_MAX)
  const run = data.kickoff_id === undefined ? '' : `, run ${data.kickoff_id}`
  return `${type}: automation ${data.automation_id}${run}`
}

/** Without what would mention people or be a link. */
const forSlack = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** A text run is no Markdown. */
const cardOf = (words: string) => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.2',
        body: [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: words }] }],
      },
    },
  ],
})
