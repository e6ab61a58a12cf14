import { randomUUID } from 'node:crypto'
import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { LinkedRun } from '../../../platform/runs/called-runs.ts'
import type { Approval } from '../../../platform/runs/run-approvals.ts'
import type { StoppedRun } from '../../../platform/budgets/budget-stops.ts'
import type { IdentityToken } from '../../../platform/connections/identity-tokens.ts'
import type { LlmConnection } from '../../../platform/connections/llm-connections.ts'
import type { VersionOfRun } from '../../../platform/runs/run-again.ts'
import type { Run, Usage } from '../../../platform/runs/runs.ts'
import type { ProgressPage } from '../../../platform/runs/progress.ts'
import type { Artifact } from '../../../platform/runs/run-artifacts.ts'
import type { StepCounts } from '../../../platform/runs/run-steps.ts'
import type { RunScore } from '../../../platform/evaluations/run-scores.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { runPath, tracePath } from '../frame/addresses.ts'
import { kickoffCommand } from '../frame/commands.ts'
import { count, duration, plural, pretty, shortId } from '../frame/format.ts'
import { fileText } from '../frame/input-field.ts'
import { jsonTree } from '../frame/text/json-tree.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import { scoreSection } from '../frame/score-sections.ts'
import { artifactsSection } from './artifacts-section.ts'
import { crumbs, wayTo } from './crumbs.ts'
import { linkedSection } from './linked-runs.ts'
import { outcomeSection } from './outcome-section.ts'
import type { TextView } from './outcome-section.ts'
import {
  copyable,
  csrfField,
  emptyState,
  runPill,
  noticeBox,
  ranFor,
  testPill,
  statusName,
  factList,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { crewGraph } from '../frame/crew-graph.ts'
import { kindSprite } from '../frame/kinds.ts'
import { identitySection, timesSection } from './times-section.ts'
import { taskStates, toRunTimeline } from './run-steps.ts'
import { stepList } from './step-list.ts'

/** A run with its steps. */
export interface RunPage {
  readonly session: Session
  readonly automation: Automation
  readonly run: Run
  readonly progress: ProgressPage
  /** Its tokens, or those of its calls so far. */
  readonly usage: Usage | undefined
  readonly textView: TextView
  /** The files that its tasks wrote. */
  readonly artifacts: readonly Artifact[]
  readonly identities: readonly IdentityToken[]
  /** The address of the automation's API. */
  readonly apiUrl: string
  readonly notice: string | undefined
  /** The budget that it waits for. */
  readonly stopped: StoppedRun | undefined
  /** What it asks a person. */
  readonly approval: Approval | undefined
  /** The LLM connection that its error names. */
  readonly connection: LlmConnection | undefined
  /** A signed head has its leaf. */
  readonly hasReceipt: boolean
  /** False where no traces are kept. */
  readonly hasTrace: boolean
  /** What the checks of its automation found. */
  readonly score: RunScore | undefined
  /** The run that started it by a tool, and those that it started. */
  readonly linked: readonly LinkedRun[]
  /** The version that it is of. */
  readonly version: VersionOfRun
  /** The steps of its journal, and those of them that are from the run that it follows. */
  readonly keptSteps: StepCounts
}

/** The page of a run: its result, its steps, its inputs, its times. */
export function runPage(view: RunPage): Html {
  const { session, automation, run, notice } = view
  return page(
    {
      title: `Run ${shortId(run.id)}`,
      session,
      current: '/executions',
    },
    html`${crumbs([...wayTo(automation), lastCrumb(view)])} ${kindSprite()} ${noticeBox(notice)}
    ${runParts(view)}`,
  )
}

const draftPath = ({ version }: RunPage): string =>
  `/projects/${version.projectId}/versions/${version.version}`

/** By way of the runs of the automation, or of the version of the draft. */
const lastCrumb = (view: RunPage): { readonly path: string; readonly name: string } =>
  view.automation.testsProjectId === null
    ? { path: `/automations/${view.automation.automationId}/executions`, name: 'Runs' }
    : { path: draftPath(view), name: `Version ${view.version.version}` }

/**
 * All that changes while a run goes on. The script of the console asks for it again and swaps the
 * parts that differ.
 */
export function runParts(view: RunPage): Html {
  const { automation, run, textView, progress, session } = view
  const { csrfToken } = session
  const path = runPath(automation, run)
  const isLive = run.finishedAt === null && progress.isNewest
  return html`<div
    data-live="${isLive ? `${path}/live?view=${textView}` : ''}"
    data-say="Run ${statusName(run.status).toLowerCase()}"
  >
    ${head(view, path)}
    <div data-part="summary">${summary(view)}</div>
    <div class="columns">
      <div>
        <div data-part="outcome" data-keep="${questionOf(view)}">
          ${outcomeSection({ ...view, path, csrfToken })}
        </div>
        <div data-part="artifacts">${artifactsSection(view.artifacts, path)}</div>
        ${progressSection(view, path)}
      </div>
      <div>
        <div data-part="graph">${graphSection(view)}</div>
        ${inputsSection(view)}
        <div data-part="linked">${linkedSection(view.linked)}</div>
        <div data-part="times">
          ${timesSection(view, draftPath(view))} ${identitySection(view.identities)}
        </div>
        <div data-part="score">${scoreSection(view.score)}</div>
      </div>
    </div>
  </div>`
}

/** Names what is asked, for as long as somebody may be writing the answer. */
const questionOf = ({ approval }: RunPage): string =>
  approval ? `${approval.task} ${approval.askedAt.toISOString()}` : ''

function head(view: RunPage, path: string): Html {
  const { run } = view
  return html`<div class="page-head" data-part="head">
    <h1>Run <span class="mono">${shortId(run.id)}</span></h1>
    ${view.automation.testsProjectId === null ? '' : testPill()}
    <span data-part="status">${runPill(run.status)}</span>
    <div class="buttons push">
      ${view.hasReceipt ? html`<a class="button" href="${path}/receipt">Download receipt</a>` : ''}
      ${view.hasTrace ? html`<a class="button" href="${tracePath(run)}">Trace</a>` : ''}
      ${run.finishedAt ? againActions(view, path) : openActions(path)}
    </div>
  </div>`
}

const openActions = (path: string): Html =>
  html`<a class="button" href="${path}" data-without-script>Refresh</a>
    <a class="button danger" href="${path}/stop">Stop</a>`

function againActions(view: RunPage, path: string): Html {
  const { session, automation, run, keptSteps } = view
  if (automation.testsProjectId !== null) {
    return html`<a class="button" href="${draftPath(view)}#test">Test the draft again</a>`
  }
  const edit = `/automations/${automation.automationId}?from=${run.id}#run`
  const goOn = html`<a class="button" href="${path}/continue">Continue from a step</a>`
  return html`${keptSteps.own > 0 ? goOn : ''}
    <a class="button" href="${edit}">Edit inputs and run</a>
    <a class="button" href="${path}/case">Make a case of it</a>
    <form method="post" action="${path}/again">
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="start_once" value="${randomUUID()}" />
      <button class="button">${icon('repeat')}<span>Run again</span></button>
    </form>`
}

function summary({ run, usage }: RunPage): Html {
  const { queuedAt, startedAt, attempt } = run
  const waited = startedAt ? duration(startedAt.getTime() - queuedAt.getTime()) : '–'
  const facts = [
    ['Duration', runningTime(run)],
    ['Waited in the queue', waited],
    ['Input tokens', usage ? count(usage.inputTokens) : '–'],
    ['Output tokens', usage ? count(usage.outputTokens) : '–'],
    ...(attempt > 1 ? [['Attempt', count(attempt)] as const] : []),
  ] as const
  return factList(attempt > 1 ? 'statistics five' : 'statistics', facts)
}

/** The script of the console lets it go on, by the clock of this machine. */
function runningTime(run: Run): Html | string {
  const { startedAt, finishedAt } = run
  if (!startedAt || finishedAt) return ranFor(run)
  const now = new Date()
  return html`<span data-started-at="${startedAt.toISOString()}" data-now="${now.toISOString()}"
    >${ranFor(run, now)}</span
  >`
}

const ORIGINS = { retry: 'Retries', fork: 'Changes the inputs of', rerun: 'Repeats' } as const

/** Says which run this one follows, and how many steps it did not have to do. */
function keptFrom({ automation, run, keptSteps }: RunPage): Html | string {
  const { originId, originAction } = run
  if (originId === null || originAction === null) return ''
  const kept = keptSteps.carried > 0 ? `, and keeps ${plural(keptSteps.carried, 'step')} of it` : ''
  return html`<p class="hint">
    ${ORIGINS[originAction]} run
    <a class="mono" href="${runPath(automation, { id: originId })}">${shortId(originId)}</a>${kept}.
  </p>`
}

function progressSection(view: RunPage, path: string): Html {
  const { run, progress, hasTrace } = view
  const { steps, earlier, isNewest } = progress
  return html`<section class="card" aria-labelledby="progress">
    <div class="card-head">
      <h2 id="progress">Progress</h2>
      ${isNewest ? '' : html`<a href="${path}#progress">Newest steps</a>`}
      ${hasTrace ? html`<a href="${tracePath(run)}">Prompts and answers</a>` : ''}
    </div>
    ${earlier ? earlierSteps(earlier, path) : ''}
    ${stepList(toRunTimeline(steps, run, Date.now()), path)}
    ${run.finishedAt ? '' : html`<div class="writing" data-texts="${path}/texts" hidden></div>`}
    ${keptFrom(view)}
    <div data-part="nothing">
      ${
        steps.length > 0
          ? ''
          : emptyState(
              'pulse',
              run.finishedAt ? 'No progress' : 'No progress yet',
              run.finishedAt
                ? 'The crew reported no step.'
                : 'Steps appear here as the crew works.',
            )
      }
    </div>
  </section>`
}

function earlierSteps(earlier: NonNullable<ProgressPage['earlier']>, path: string): Html {
  const steps = plural(earlier.count, 'earlier step')
  return html`<p><a href="${path}?before=${earlier.cursor}#progress">Show ${steps}</a></p>`
}

/** The tasks of the crew, and how far each of them is by the steps that are shown. */
function graphSection({ version, progress, run, approval }: RunPage): Html | string {
  const states = taskStates(progress.steps, run, approval?.task)
  const graph = crewGraph(version.definition, states)
  if (graph === '') return ''
  return html`<section class="card" aria-labelledby="tasks">
    <div class="card-head"><h2 id="tasks">Tasks</h2></div>
    ${graph}
  </section>`
}

/** A file by its name, an object or an array as a tree. */
const inputValue = (value: unknown): Html | string =>
  fileText(value) ??
  (typeof value === 'object' && value !== null ? jsonTree(JSON.stringify(value)) : pretty(value))

const withCurl = (apiUrl: string, run: Run): Html =>
  html`<details class="more">
    <summary>Run with curl</summary>
    ${copyable('Command that runs it with these inputs', kickoffCommand(apiUrl, run.inputs))}
  </details>`

function inputsSection({ automation, run, apiUrl }: RunPage): Html {
  const entries = Object.entries(run.inputs)
  return html`<section class="card" aria-labelledby="inputs">
    <div class="card-head"><h2 id="inputs">Inputs</h2></div>
    ${
      entries.length > 0
        ? html`<dl class="facts">
            ${entries.map(
              ([name, value]) =>
                html`<dt class="mono">${name}</dt>
                  <dd class="prose">${inputValue(value)}</dd>`,
            )}
          </dl>`
        : html`<p class="hint">None</p>`
    }
    ${automation.testsProjectId === null ? withCurl(apiUrl, run) : ''}
  </section>`
}
