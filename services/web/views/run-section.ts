import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Deployment } from '../../platform/deployments.ts'
import type { Session } from '../../platform/sessions.ts'
import { icon } from './icons.ts'
import { csrfField, problemBox } from './parts.ts'
import type { Html } from './parts.ts'

export interface RunForm {
  readonly inputs: Readonly<Record<string, string>>
  readonly problem?: string
}

export interface RunSection {
  readonly session: Session
  readonly automation: Deployment
  readonly inputs: readonly string[]
  readonly form: RunForm | undefined
}

/** The form that starts a run with the inputs the crew asks for. */
export function runSection({ session, automation, inputs, form }: RunSection): Html {
  return html`<section class="card" aria-labelledby="run">
    <div class="card-head"><h2 id="run">Start an execution</h2></div>
    ${problemBox(form?.problem)}
    <form method="post" action="/automations/${automation.automationId}/executions" class="stack">
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="start_once" value="${randomUUID()}" />
      ${inputs.map((name) => inputField(name, form?.inputs[name] ?? ''))}
      ${inputs.length === 0 ? html`<p class="hint">It needs no inputs.</p>` : ''}
      <button class="button primary">${icon('play')}<span>Start</span></button>
    </form>
  </section>`
}

const inputField = (name: string, value: string): Html =>
  html`<label
    ><span class="mono">${name}</span>
    <textarea name="input.${name}" rows="2" required>${value}</textarea>
  </label>`
