import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { ListedStep } from '../../../platform/runs/run-steps.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { runPath } from '../frame/addresses.ts'
import { icon } from '../frame/icons.ts'
import { formType, inputField } from '../frame/input-field.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { shortId } from '../frame/format.ts'

/** The form that goes on from a step of a run. */
interface ContinuePage {
  readonly session: Session
  readonly automation: Automation
  readonly run: Run
  readonly steps: readonly ListedStep[]
  readonly fields: readonly InputField[]
  /** As they were typed, or as the run had them. */
  readonly texts: Readonly<Record<string, string>>
  readonly fromStep: string
  readonly problem: string | undefined
}

/** The most steps that can be chosen from. */
const STEPS_SHOWN = 500

/** The page on which a run goes on from one of its steps, perhaps with other inputs. */
export function continuePage(view: ContinuePage): Html {
  const { session, automation, run, fields, texts } = view
  const path = runPath(automation, run)
  return page(
    { title: 'Continue from a step', session, current: '/executions' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a
        ><a href="/automations/${automation.automationId}">${automation.name}</a
        ><a href="${path}">${shortId(run.id)}</a>
      </nav>
      <div class="card lone">
        <h1>Continue from a step</h1>
        <p>
          A new run keeps what finished and does not depend on the step, and does the rest: the
          step, what came after it in its task, and the tasks that wait for that one. Steps that are
          kept cost nothing again, also when you change the inputs that led to them.
        </p>
        ${problemBox(view.problem)}
        <form method="post" action="${path}/continue" enctype="${formType(fields)}" class="stack">
          ${csrfField(session.csrfToken)}
          <input type="hidden" name="start_once" value="${randomUUID()}" />
          ${stepField(view)} ${fields.map((field) => inputField(field, texts[field.name]))}
          <div class="buttons">
            <button class="button primary">${icon('play')}<span>Start</span></button>
            <a class="button" href="${path}">Cancel</a>
          </div>
        </form>
      </div>`,
  )
}

function stepField({ run, steps, fromStep }: ContinuePage): Html {
  const option = (value: string, text: string): Html =>
    html`<option value="${value}" ${value === fromStep ? 'selected' : ''}>${text}</option>`
  return html`<label
    ><span>Step</span>
    <select name="from_step">
      ${run.status === 'completed' ? '' : option('', 'Where it left off')}
      ${steps.slice(0, STEPS_SHOWN).map((step) => option(step.key, nameOf(step)))}
    </select>
  </label>`
}

/** Its place, what it was, and what became of it. */
const nameOf = ({ kind, name, path, state }: ListedStep): string =>
  `${kind === 'task' ? name : `${path.slice(0, -1).join(' › ')} › ${name}`} (${kind}, ${state})`
