import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Deployment } from '../../platform/deployments.ts'
import type { Execution } from '../../platform/executions.ts'
import type { ProgressPage } from '../../platform/progress.ts'
import type { Session } from '../../platform/sessions.ts'
import { kickoffCommand } from './commands.ts'
import { absoluteTime, count, duration, plural, pretty } from './format.ts'
import { icon } from './icons.ts'
import { page } from './layout.ts'
import { outcomeSection } from './outcome-section.ts'
import type { TextView } from './outcome-section.ts'
import {
  copyable,
  csrfField,
  emptyState,
  executionPill,
  noticeBox,
  ranFor,
  statusName,
  time,
} from './parts.ts'
import type { Html } from './parts.ts'
import { progressList } from './progress-list.ts'
import type { Span } from './progress-list.ts'

export interface ExecutionPage {
  readonly session: Session
  readonly automation: Deployment
  readonly execution: Execution
  readonly progress: ProgressPage
  readonly textView: TextView
  /** Where callers find the API of the automation. */
  readonly apiUrl: string
  readonly notice: string | undefined
}

export const executionPath = (automation: Deployment, { id }: Pick<Execution, 'id'>): string =>
  `/automations/${automation.automationId}/executions/${id}`

export function executionPage(view: ExecutionPage): Html {
  const { session, automation, execution, notice } = view
  return page(
    {
      title: `Execution ${execution.id.slice(0, 8)}`,
      session,
      current: '/executions',
    },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a
        ><a href="/automations/${automation.automationId}">${automation.name}</a
        ><a href="/automations/${automation.automationId}/executions">Executions</a>
      </nav>
      ${noticeBox(notice)} ${executionParts(view)}`,
  )
}

/** All that changes while a run goes on. The script of the console asks for it again and swaps the parts that differ. */
export function executionParts(view: ExecutionPage): Html {
  const { automation, execution, textView, progress } = view
  const path = executionPath(automation, execution)
  const isLive = execution.finishedAt === null && progress.isNewest
  return html`<div
    data-live="${isLive ? `${path}/live?view=${textView}` : ''}"
    data-say="Execution ${statusName(execution.status).toLowerCase()}"
  >
    ${head(view, path)}
    <div data-part="summary">${summary(execution)}</div>
    <div class="columns">
      <div>
        <div data-part="outcome">${outcomeSection({ execution, textView, path })}</div>
        ${progressSection(view, path)}
      </div>
      <div>
        ${inputsSection(view)}
        <div data-part="times">${timesSection(execution)}</div>
      </div>
    </div>
  </div>`
}

function head(view: ExecutionPage, path: string): Html {
  const { execution } = view
  return html`<div class="page-head" data-part="head">
    <h1>Execution <span class="mono">${execution.id.slice(0, 8)}</span></h1>
    ${executionPill(execution.status)}
    <div class="buttons push">
      ${execution.finishedAt ? againActions(view, path) : openActions(path)}
    </div>
  </div>`
}

const openActions = (path: string): Html =>
  html`<a class="button" href="${path}" data-without-script>Refresh</a>
    <a class="button danger" href="${path}/stop">Stop</a>`

function againActions({ session, automation, execution }: ExecutionPage, path: string): Html {
  const edit = `/automations/${automation.automationId}?from=${execution.id}#run`
  return html`<a class="button" href="${edit}">Edit inputs and run</a>
    <form method="post" action="${path}/again">
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="start_once" value="${randomUUID()}" />
      <button class="button">${icon('repeat')}<span>Run again</span></button>
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
    ...(attempt > 1 ? [['Attempt', count(attempt)]] : []),
  ]
  return html`<dl class="statistics ${attempt > 1 ? 'five' : ''}">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

function progressSection({ execution, progress }: ExecutionPage, path: string): Html {
  const { steps, earlier, isNewest } = progress
  return html`<section class="card" aria-labelledby="progress">
    <div class="card-head">
      <h2 id="progress">Progress</h2>
      ${isNewest ? '' : html`<a href="${path}#progress">Newest steps</a>`}
    </div>
    ${earlier ? html`<p><a href="${path}?before=${earlier.cursor}#progress">Show ${plural(earlier.count, 'earlier step')}</a></p>` : ''}
    ${progressList(steps, spanOf(execution))}
    <div data-part="nothing">
      ${
        steps.length > 0
          ? ''
          : emptyState(
              'pulse',
              execution.finishedAt ? 'No progress' : 'No progress yet',
              execution.finishedAt
                ? 'The crew reported no step.'
                : 'Steps appear here as the crew works.',
            )
      }
    </div>
  </section>`
}

function spanOf({ startedAt, finishedAt }: Execution): Span | undefined {
  if (!startedAt) return undefined
  return { startedAt, ms: (finishedAt ?? new Date()).getTime() - startedAt.getTime() }
}

function inputsSection({ execution, apiUrl }: ExecutionPage): Html {
  const entries = Object.entries(execution.inputs)
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
    <details class="more">
      <summary>Run with curl</summary>
      ${copyable('Command that runs it with these inputs', kickoffCommand(apiUrl, execution.inputs))}
    </details>
  </section>`
}

function timesSection({ id, queuedAt, startedAt, finishedAt }: Execution): Html {
  return html`<section class="card" aria-labelledby="times">
    <div class="card-head"><h2 id="times">Times</h2></div>
    <dl class="facts">
      <dt>Queued</dt>
      <dd>${time(queuedAt)}</dd>
      <dt>Started</dt>
      <dd>${startedAt ? absoluteTime(startedAt) : '–'}</dd>
      <dt>Finished</dt>
      <dd>${finishedAt ? absoluteTime(finishedAt) : '–'}</dd>
      <dt>Kickoff ID</dt>
      <dd class="mono select">${id}</dd>
    </dl>
  </section>`
}
