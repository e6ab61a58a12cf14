import * as v from 'valibot'
import { toTaskStatus } from '../../platform/a2a/task-status.ts'
import { RUN_STATUSES } from '../../platform/runs/runs.ts'
import type { WebhookHead } from '../../platform/webhooks/webhook-outbox.ts'

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
export function bodyOf({
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
