import { ENDING_DAYS } from '../../../platform/automations/static-tokens.ts'
import { html } from 'hono/html'
import { ACTIVITY_RANGES } from '../../../platform/runs/activity.ts'
import type {
  ActivityRange,
  AutomationActivity,
  RunsOfStep,
} from '../../../platform/runs/activity.ts'
import type { RunCounts, ListedRun } from '../../../platform/runs/run-list.ts'
import { sumOf } from '../../../platform/runs/run-list.ts'
import type { Page } from '../../../shared/postgres/paging.ts'
import type { RetiringModel } from '../../../platform/connections/model-retirements.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { activityChart, RANGE_NAMES } from '../frame/activity-chart.ts'
import { automationsTable } from '../frame/lists/automations-table.ts'
import { runsTable } from '../frame/lists/runs-table.ts'
import { count, plural } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { newAutomation, noAutomations } from '../frame/lists/no-automations.ts'
import { emptyState, noticeBox, viewAll, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** The figures of an organization. */
interface DashboardPage {
  readonly session: Session
  readonly notice?: string | undefined
  readonly warning?: string | undefined
  /** The first automations by name. */
  readonly automations: Page<AutomationActivity>
  readonly online: number
  readonly counts: RunCounts
  readonly range: ActivityRange
  readonly steps: readonly RunsOfStep[]
  readonly recent: readonly ListedRun[]
  /** Static tokens that end soon, or ended lately. */
  readonly endingTokens: number
  /** Models that automations call and that are turned off soon. */
  readonly retiring: readonly RetiringModel[]
}

/** The first page after sign-in: figures, a chart of runs, automations, recent runs. */
export function dashboardPage(dashboard: DashboardPage): Html {
  const { session, notice, warning, range, steps } = dashboard
  return page(
    { title: 'Dashboard', session, current: '/' },
    html`<div class="page-head">
        <div>
          <h1>Dashboard</h1>
          <p class="hint">${session.organization}</p>
        </div>
        <div class="buttons push">${newAutomation()}</div>
      </div>
      ${noticeBox(notice)} ${warning ? warningBox(warning) : ''} ${endingTokens(dashboard)}
      ${retiringIn(dashboard)} ${statistics(dashboard)}
      <section class="card" aria-labelledby="activity">
        <div class="card-head">
          <h2 id="activity">Last ${RANGE_NAMES[range]}</h2>
          ${rangeSwitch(range)}
        </div>
        ${activityChart(range, steps)}
      </section>
      ${automationsSection(dashboard)} ${recentSection(dashboard)}`,
  )
}

const rangeSwitch = (range: ActivityRange): Html =>
  html`<nav class="switch" aria-label="Range of the chart">
    ${Object.keys(ACTIVITY_RANGES).map(
      (each) =>
        html`<a href="/?range=${each}#activity" ${each === range ? html`aria-current="true"` : ''}
          >${each}</a
        >`,
    )}
  </nav>`

const endingTokens = ({ endingTokens: tokens }: DashboardPage): Html | string =>
  tokens === 0
    ? ''
    : warningBox(
        html`${plural(tokens, 'static token')} ${tokens === 1 ? 'ends' : 'end'} within
          ${ENDING_DAYS} days, or ended lately: <a href="/static-tokens">replace or delete</a>.`,
      )

const RETIRING_SHOWN = 5

function retiringIn({ retiring }: DashboardPage): Html | string {
  const names = new Map(retiring.map((each) => [each.automationId, each.automationName]))
  if (names.size === 0) return ''
  const shown = [...names].slice(0, RETIRING_SHOWN)
  return warningBox(
    html`${plural(names.size, 'automation')} ${names.size === 1 ? 'calls' : 'call'} a model that its
    provider turns off soon, or did:
    ${shown.map(
      ([id, name], index) =>
        html`${index > 0 ? ', ' : ''}<a class="break" href="/automations/${id}">${name}</a>`,
    )}${names.size > shown.length ? ' and others' : ''}.`,
  )
}

function automationsSection({ automations }: DashboardPage): Html {
  return html`<section class="card flush" aria-labelledby="automations">
    <div class="card-head">
      <h2 id="automations">Automations</h2>
      ${viewAll('/automations', automations.total)}
    </div>
    ${automations.items.length > 0 ? automationsTable(automations.items) : noAutomations()}
  </section>`
}

function recentSection({ recent, counts }: DashboardPage): Html {
  return html`<section class="card flush" aria-labelledby="recent">
    <div class="card-head">
      <h2 id="recent">Recent runs</h2>
      ${viewAll('/executions', sumOf(counts))}
    </div>
    ${
      recent.length > 0
        ? runsTable('Recent runs of all automations', recent)
        : emptyState(
            'pulse',
            'No runs yet',
            html`Start one from the page of an <a href="/automations">automation</a>, or call its
              API.`,
          )
    }
  </section>`
}

function statistics({ automations, online, counts }: DashboardPage): Html {
  return html`<dl class="statistics">
    <div>
      <dt>Automations online</dt>
      <dd>${count(online)} <small>of ${count(automations.total)}</small></dd>
    </div>
    <div>
      <dt>In progress</dt>
      <dd>
        ${count(counts.running)}
        <small>${count(counts.queued)} queued, ${count(counts.waiting)} waiting</small>
      </dd>
    </div>
    <div>
      <dt>Completed</dt>
      <dd>${count(counts.completed)} <small>${successRate(counts)}</small></dd>
    </div>
    <div>
      <dt>Failed</dt>
      <dd>${count(counts.error)} <small>${count(counts.stopped)} stopped</small></dd>
    </div>
  </dl>`
}

/**
 * Returns the share of finished runs that completed, such as `99.9 % of 4,019`; empty when none has
 * finished. It is never rounded up to 100 or down to 0.
 */
export function successRate({ completed, error }: RunCounts): string {
  const finished = completed + error
  if (finished === 0) return ''
  const percent = (completed / finished) * 100
  const shown = percent > 50 ? Math.floor(percent * 10) / 10 : Math.ceil(percent * 10) / 10
  return `${shown} % of ${count(finished)}`
}
