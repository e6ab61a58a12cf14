import { html } from 'hono/html'
import type { Deployment } from '../../platform/deployments.ts'
import type { Execution } from '../../platform/executions.ts'
import type { Progress } from '../../platform/progress.ts'
import type { Session } from '../../platform/sessions.ts'
import { count, duration, pretty } from './format.ts'
import { page } from './layout.ts'
import { csrfField, emptyState, executionPill, noticeBox, ranFor, time } from './parts.ts'
import type { Html } from './parts.ts'
import { progressList } from './progress-list.ts'

export interface ExecutionPage {
  readonly session: Session
  readonly automation: Deployment
  readonly execution: Execution
  readonly progress: readonly Progress[]
  readonly notice: string | undefined
}

const REFRESH_SECONDS = 5

export function executionPage(view: ExecutionPage): Html {
  const { session, automation, execution, progress, notice } = view
  const { id, status, finishedAt } = execution
  const refresh = finishedAt ? {} : { refreshSeconds: REFRESH_SECONDS }
  return page(
    { title: `Execution ${id.slice(0, 8)}`, session, current: '/automations', ...refresh },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a
        ><a href="/automations/${automation.automationId}">${automation.name}</a>
      </nav>
      <div class="page-head">
        <h1>Execution <span class="mono">${id.slice(0, 8)}</span></h1>
        ${executionPill(status)} ${finishedAt ? '' : stopForm(view)}
      </div>
      ${noticeBox(notice)} ${summary(execution)}
      <div class="columns">
        <div>
          ${outcome(execution)}
          <section class="card" aria-labelledby="progress">
            <div class="card-head"><h2 id="progress">Progress</h2></div>
            ${
              progress.length > 0
                ? progressList(progress)
                : emptyState('pulse', 'No progress yet', 'Steps appear here as the crew works.')
            }
          </section>
        </div>
        <div>${inputsSection(execution)} ${timesSection(execution)}</div>
      </div>`,
  )
}

function stopForm({ session, automation, execution }: ExecutionPage): Html {
  return html`<form
    method="post"
    class="push"
    action="/automations/${automation.automationId}/executions/${execution.id}/stop"
  >
    ${csrfField(session.csrfToken)}
    <button class="button danger">Stop</button>
  </form>`
}

function summary(execution: Execution): Html {
  const { usage, queuedAt, startedAt, attempt } = execution
  const waited = startedAt ? duration(startedAt.getTime() - queuedAt.getTime()) : '–'
  const facts = [
    ['Duration', ranFor(execution)],
    ['Waited in the queue', waited],
    ['Input tokens', usage ? count(usage.inputTokens) : '–'],
    ['Output tokens', usage ? count(usage.outputTokens) : '–'],
    ['Attempt', attempt > 0 ? count(attempt) : '–'],
  ]
  return html`<dl class="statistics five">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

function outcome({ output, error }: Execution): Html | string {
  if (error) {
    return html`<section class="card failed" aria-labelledby="error">
      <div class="card-head">
        <h2 id="error">Error</h2>
        <code>${error.code}</code>
      </div>
      <p class="prose">${error.message}</p>
    </section>`
  }
  if (output === null) return ''
  return html`<section class="card" aria-labelledby="output">
    <div class="card-head"><h2 id="output">Output</h2></div>
    ${output.trim() ? html`<div class="prose">${output}</div>` : html`<p class="hint">It is empty.</p>`}
  </section>`
}

function inputsSection({ inputs }: Execution): Html {
  const entries = Object.entries(inputs)
  return html`<section class="card" aria-labelledby="inputs">
    <div class="card-head"><h2 id="inputs">Inputs</h2></div>
    ${
      entries.length > 0
        ? html`<dl class="facts">
            ${entries.map(
              ([name, value]) =>
                html`<dt class="mono">${name}</dt>
                  <dd class="prose">${pretty(value)}</dd>`,
            )}
          </dl>`
        : html`<p class="hint">None</p>`
    }
  </section>`
}

function timesSection({ id, queuedAt, startedAt, finishedAt }: Execution): Html {
  return html`<section class="card" aria-labelledby="times">
    <div class="card-head"><h2 id="times">Times</h2></div>
    <dl class="facts">
      <dt>Queued</dt>
      <dd>${time(queuedAt)}</dd>
      <dt>Started</dt>
      <dd>${startedAt ? time(startedAt) : '–'}</dd>
      <dt>Finished</dt>
      <dd>${finishedAt ? time(finishedAt) : '–'}</dd>
      <dt>Kickoff ID</dt>
      <dd class="mono select">${id}</dd>
    </dl>
  </section>`
}
