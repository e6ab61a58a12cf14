import { html } from 'hono/html'
import type { AutomationActivity, HourOfExecutions } from '../../platform/activity.ts'
import type { Execution, ExecutionStatus } from '../../platform/executions.ts'
import type { Session } from '../../platform/sessions.ts'
import { activityChart } from './activity-chart.ts'
import { automationsTable } from './automations-page.ts'
import { executionsTable } from './executions-table.ts'
import { count } from './format.ts'
import { page } from './layout.ts'
import { emptyState, noticeBox, warningBox } from './parts.ts'
import type { Html } from './parts.ts'

export interface DashboardPage {
  readonly session: Session
  readonly notice?: string | undefined
  readonly warning?: string | undefined
  readonly automations: readonly AutomationActivity[]
  readonly counts: Readonly<Record<ExecutionStatus, number>>
  readonly hours: readonly HourOfExecutions[]
  readonly recent: readonly (Execution & { automationId: string; automationName: string })[]
}

const AUTOMATIONS_SHOWN = 8

export function dashboardPage(dashboard: DashboardPage): Html {
  const { session, notice, warning, automations, hours, recent } = dashboard
  return page(
    { title: 'Dashboard', session, current: '/' },
    html`<div class="page-head">
        <div>
          <h1>Dashboard</h1>
          <p class="hint">${session.organization}</p>
        </div>
      </div>
      ${noticeBox(notice)} ${warning ? warningBox(warning) : ''} ${statistics(dashboard)}
      <section class="card" aria-labelledby="activity">
        <div class="card-head">
          <h2 id="activity">Last 24 hours</h2>
        </div>
        ${activityChart(hours)}
      </section>
      <section class="card flush" aria-labelledby="automations">
        <div class="card-head">
          <h2 id="automations">Automations</h2>
          ${automations.length > 0 ? html`<a href="/automations">View all</a>` : ''}
        </div>
        ${automationsTable(automations.slice(0, AUTOMATIONS_SHOWN))}
      </section>
      <section class="card flush" aria-labelledby="recent">
        <div class="card-head"><h2 id="recent">Recent executions</h2></div>
        ${
          recent.length > 0
            ? executionsTable('Recent executions of all automations', recent)
            : emptyState(
                'pulse',
                'No executions yet',
                'Start one from the page of an automation, or call its API.',
              )
        }
      </section>`,
  )
}

function statistics({ automations, counts }: DashboardPage): Html {
  const online = automations.filter(({ status }) => status === 'Crew is Online').length
  return html`<dl class="statistics">
    <div>
      <dt>Automations online</dt>
      <dd>${count(online)} <small>of ${count(automations.length)}</small></dd>
    </div>
    <div>
      <dt>In progress</dt>
      <dd>${count(counts.running)} <small>${count(counts.queued)} queued</small></dd>
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

function successRate({ completed, error }: DashboardPage['counts']): string {
  const finished = completed + error
  return finished > 0 ? `${Math.floor((completed / finished) * 100)} % success` : ''
}
