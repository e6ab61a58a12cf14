import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { icon } from '../frame/icons.ts'
import { formType, inputField } from '../frame/input-field.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The texts of the form: those of a refused one, or the inputs of an earlier run. */
export interface StartForm {
  readonly inputs: Readonly<Record<string, string>>
  readonly problem?: string
}

/** The automation that the form starts. */
interface StartSection {
  readonly session: Session
  readonly automation: Automation
  readonly fields: readonly InputField[]
  readonly form: StartForm | undefined
}

/** The form that starts a run, with a field for each input; none for a crew that failed. */
export function startSection({ session, automation, fields, form }: StartSection): Html {
  if (automation.status === 'Crew has Failed') return failedSection(automation)
  return html`<section class="card" aria-labelledby="run">
    <div class="card-head"><h2 id="run">Start a run</h2></div>
    ${problemBox(form?.problem)}
    <form
      method="post"
      action="/automations/${automation.automationId}/executions"
      enctype="${formType(fields)}"
      class="stack"
    >
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="start_once" value="${randomUUID()}" />
      ${fields.map((field) => inputField(field, form?.inputs[field.name]))}
      ${fields.length === 0 ? html`<p class="hint">It needs no inputs.</p>` : ''}
      <button class="button primary">${icon('play')}<span>Start</span></button>
    </form>
  </section>`
}

const failedSection = ({ automationId }: Automation): Html =>
  html`<section class="card" aria-labelledby="run">
    <div class="card-head"><h2 id="run">Start a run</h2></div>
    <p class="hint">
      Its crew has failed: a run would find nothing that takes it.
      <a href="/automations/${automationId}/deployments">Deploy it again</a> first.
    </p>
  </section>`
