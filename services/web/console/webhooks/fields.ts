import { html } from 'hono/html'
import { EVENT_TYPES, EVERY_EVENT } from '../../../platform/webhooks.ts'
import type { Session } from '../../../platform/sessions.ts'
import { csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { OTHERS_LENGTH_MAX, URL_LENGTH_MAX } from './form.ts'
import type { TypedWebhook } from './form.ts'

interface WebhookForm {
  readonly session: Session
  readonly action: string
  readonly typed: TypedWebhook
  readonly verb: string
}

const OFFERED = [...EVENT_TYPES, EVERY_EVENT] as const

const MEANINGS: Readonly<Record<(typeof OFFERED)[number], string>> = {
  run_completed: 'Run completed',
  run_failed: 'Run failed',
  run_stopped: 'Run stopped',
  task_started: 'Task started',
  task_completed: 'Task completed',
  approval_requested: 'Run waits for a person',
  approval_decided: 'A person has decided',
  budget_warning: 'Budget 80 % spent',
  budget_exceeded: 'Run waits for a budget',
  [EVERY_EVENT]: 'Every event',
}

/** The form of a webhook. */
export const webhookForm = ({ session, action, typed, verb }: WebhookForm): Html =>
  html`<form method="post" action="${action}" class="stack">
    ${csrfField(session.csrfToken)}
    <label
      >Address
      <input
        name="url"
        type="url"
        class="mono"
        value="${typed.url}"
        maxlength="${URL_LENGTH_MAX}"
        placeholder="https://crm.example.com/webhooks"
        autocomplete="off"
        required
      />
    </label>
    <fieldset>
      <legend>Events</legend>
      <div class="ticks">
        ${OFFERED.map(
          (type) =>
            html`<label class="tick"
              ><input
                type="checkbox"
                name="event"
                value="${type}"
                ${typed.ticked.includes(type) ? 'checked' : ''}
              />
              ${MEANINGS[type]}</label
            >`,
        )}
      </div>
    </fieldset>
    <label
      >Other types <span class="quiet">(optional)</span>
      <input
        name="others"
        class="mono"
        value="${typed.others}"
        maxlength="${OTHERS_LENGTH_MAX}"
        placeholder="llm_call"
        autocomplete="off"
      />
    </label>
    <div><button class="button primary">${verb}</button></div>
  </form>`
