import { html } from 'hono/html'
import { BUDGET_EXCEEDED, describeStop } from '../../../platform/budgets/budget-stops.ts'
import type { StoppedRun } from '../../../platform/budgets/budget-stops.ts'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import type { Approval } from '../../../platform/runs/run-approvals.ts'
import type { ProgressPage } from '../../../platform/runs/progress.ts'
import { RUN_ERRORS } from '../../../platform/runs/run-errors.ts'
import type { Failure, Run } from '../../../platform/runs/runs.ts'
import { approvalForms } from '../frame/approval-forms.ts'
import { icon } from '../frame/icons.ts'
import { csrfField } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { formatOf } from '../frame/text/text-format.ts'
import { isSkipped } from './run-steps.ts'
import { plainText, renderText } from '../frame/text/text-view.ts'

/** The view of an output: as a document, or as it was written. */
export type TextView = 'rendered' | 'raw'

/** A run, and the view of its output. */
interface OutcomeSection {
  readonly run: Run
  readonly textView: TextView
  /** The address of the run. */
  readonly path: string
  /** The budget that it waits for. */
  readonly stopped: StoppedRun | undefined
  /** What it asks a person. */
  readonly approval: Approval | undefined
  /** The LLM connection that its error names. */
  readonly connection: LlmConnection | undefined
  readonly progress: Pick<ProgressPage, 'steps'>
  readonly csrfToken: string
}

/** The result of a run: its output, its error, or what it waits for. */
export function outcomeSection(section: OutcomeSection): Html | string {
  const { output, error } = section.run
  if (section.stopped) return stopSection(section, section.stopped)
  if (section.approval) return waitingSection(section, section.approval)
  if (error) return errorSection(error, section.connection)
  if (output === null) return ''
  return html`<section class="card" aria-labelledby="output">
    <div class="card-head">
      <h2 id="output">Output</h2>
      ${output.trim() ? outputActions(section, output) : ''}
    </div>
    ${output.trim() ? outputBody(section, output) : html`<p class="hint">${emptiness(section)}</p>`}
  </section>`
}

const emptiness = ({ progress, run }: OutcomeSection): string =>
  isSkipped(progress.steps, run)
    ? 'The output is empty: each task was skipped.'
    : 'The output is empty.'

function waitingSection(section: OutcomeSection, approval: Approval): Html {
  const { path, csrfToken } = section
  return html`<section class="card" aria-labelledby="waiting">
    <div class="card-head">
      <h2 id="waiting">Waiting for a person</h2>
      <code>${approval.call?.name ?? approval.task}</code>
    </div>
    ${approvalForms({ approval, path, csrfToken, back: 'run' })}
  </section>`
}

/** What went wrong, and what to do about it. */
function errorSection(error: Failure, connection: LlmConnection | undefined): Html {
  const remedy = Object.entries(RUN_ERRORS).find(([known]) => known === error.code)?.[1].remedy
  return html`<section class="card failed" aria-labelledby="error">
    <div class="card-head">
      <h2 id="error">Error</h2>
      <code>${error.code}</code>
    </div>
    <p class="prose">${error.message}</p>
    ${remedy ? html`<p class="hint">${remedy}</p>` : ''}
    ${
      connection
        ? html`<p>
            <a href="/llm-connections/${connection.id}">LLM connection ${connection.name}</a>
          </p>`
        : ''
    }
  </section>`
}

function outputBody({ textView }: OutcomeSection, output: string): Html {
  return html`<div class="output" tabindex="0" role="group" aria-label="Output">
    ${textView === 'raw' ? plainText(output) : renderText(output)}
  </div>`
}

function outputActions({ textView, path }: OutcomeSection, output: string): Html {
  const view = (name: TextView, text: string): Html =>
    html`<a href="${path}?view=${name}#output" ${name === textView ? html`aria-current="true"` : ''}
      >${text}</a
    >`
  const rendered = formatOf(output) === 'json' ? 'Formatted' : 'Rendered'
  return html`<div class="output-actions" data-copy-from="${path}/output">
    ${
      formatOf(output) === 'plain'
        ? ''
        : html`<nav class="switch" aria-label="View of the output">
            ${view('rendered', rendered)}${view('raw', 'Raw')}
          </nav>`
    }
    <a class="button small" href="${path}/output">${icon('download')}<span>Download</span></a>
  </div>`
}

const stopSection = ({ path, csrfToken }: OutcomeSection, { stop }: StoppedRun): Html =>
  html`<section class="card failed" aria-labelledby="stop">
    <div class="card-head">
      <h2 id="stop">Waiting for a budget</h2>
      <code>${BUDGET_EXCEEDED}</code>
    </div>
    <p class="prose">${describeStop(stop)}</p>
    <p class="hint">No finished step is repeated: the run continues before its next model call.</p>
    <form method="post" action="${path}/resume" class="buttons">
      ${csrfField(csrfToken)}
      <button class="button primary">Resume</button>
      <a class="button" href="/budgets">Budgets</a>
    </form>
  </section>`
