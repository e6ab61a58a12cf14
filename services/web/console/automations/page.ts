import { html } from 'hono/html'
import type { AutomationSummary } from '../../../platform/automations/automation-summary.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Forecast } from '../../../platform/batches/forecast.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import type { ScoredDay } from '../../../platform/evaluations/run-scores.ts'
import type { RunsOfStep } from '../../../platform/runs/activity.ts'
import type { ListedRun } from '../../../platform/runs/run-list.ts'
import type { RetiringModel } from '../../../platform/connections/model-retirements.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { activityChart } from '../frame/activity-chart.ts'
import { dollars } from '../frame/amounts.ts'
import { count, duration, plural, relativeTime } from '../frame/format.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { scoresByDay } from '../frame/score-sections.ts'
import { runsTable } from '../frame/lists/runs-table.ts'
import {
  automationReason,
  csrfField,
  emptyState,
  factList,
  noticeBox,
  problemBox,
  viewAll,
  warningBox,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { randomUUID } from 'node:crypto'
import { icon } from '../frame/icons.ts'
import { formType, inputField } from '../frame/input-field.ts'

/** The first page of an automation, as its routes read it. */
export interface AutomationPage {
  readonly session: Session
  readonly automation: Automation
  readonly definition: CrewDefinition
  readonly fields: readonly InputField[]
  /** The newest ones. */
  readonly runs: readonly ListedRun[]
  readonly runsTotal: number
  readonly summary: AutomationSummary
  /** The runs of the last seven days. */
  readonly steps: readonly RunsOfStep[]
  /** What a run costs in US dollars; null: unknown. */
  readonly cost: number | null
  /** How those did that checks scored. */
  readonly scored: readonly ScoredDay[]
  /** Models that its versions call and that are turned off soon. */
  readonly retiring: readonly RetiringModel[]
  /** What a run takes; undefined where no budget could reserve it. */
  readonly forecast: Forecast | undefined
  readonly notice?: string | undefined
  /** A form that was refused, with what was typed. */
  readonly startForm?: StartForm | undefined
}

/** The first page of an automation: its runs, and the form that starts one. */
export function automationPage(view: AutomationPage): Html {
  const { session, automation, notice } = view
  return page(
    { title: automation.name, session, current: '/automations' },
    html`${automationHead({ automation, tab: 'runs' })} ${noticeBox(notice)}
      ${automationReason(automation)} ${retiringModels(view)} ${summarySection(view)}
      <div class="columns side-first">
        <div>${trendSection(view)} ${runsSection(view)} ${scoresByDay(view.scored)}</div>
        <div>${startSection({ ...view, form: view.startForm })}</div>
      </div>`,
  )
}

/** The models that are turned off soon, by version, with a button that drafts one without them. */
function retiringModels({ session, retiring }: AutomationPage): Html[] {
  const versions = new Map(retiring.map((each) => [each.number, each.projectId]))
  return [...versions].map(([number, projectId]) => {
    const models = retiring.filter((each) => each.number === number)
    const hasSuccessor = models.some(({ successor }) => successor !== undefined)
    return warningBox(
      html`Version ${count(number)} calls ${models.map(described)}.
      ${hasSuccessor ? draftForm(`/projects/${projectId}/versions/${number}`, session) : ''}`,
    )
  })
}

const described = ({ model, on, successor }: RetiringModel, index: number): Html =>
  html`${index > 0 ? ', ' : ''}<span class="mono">${model}</span>, which its provider turns off on
    ${on}${successor ? html` (successor: <span class="mono">${successor}</span>)` : ''}`

const draftForm = (version: string, { csrfToken }: Session): Html =>
  html`<form method="post" action="${version}/successor">
    ${csrfField(csrfToken)}
    <button class="button">Draft a version with successors</button>
  </form>`

/** How it did in the last seven days, and what starts it; nothing before its first run. */
function summarySection({ automation, summary, cost, runsTotal }: AutomationPage): Html | string {
  if (runsTotal === 0) return ''
  const { ended, failed, medianSeconds, slowSeconds } = summary
  return factList('statistics five', [
    [
      'Succeeded in 7 days',
      ended === 0
        ? '–'
        : html`${Math.floor(((ended - failed) / ended) * 100)} %
            <small>${count(failed)} of ${count(ended)} failed</small>`,
    ],
    [
      'Median time',
      medianSeconds === null
        ? '–'
        : html`${duration(medianSeconds * 1000)}
            <small>95 % within ${duration((slowSeconds ?? medianSeconds) * 1000)}</small>`,
    ],
    ['Cost a run', costFact(summary, cost)],
    ['Version', versionFact(summary)],
    ['Starts and messages', setUp(summary, `/automations/${automation.automationId}`)],
  ])
}

/** The mean of the last runs, and of the tokens that they used. */
function costFact({ tokens }: AutomationSummary, cost: number | null): Html | string {
  if (tokens === null) return '–'
  const used = `${count(Math.round(tokens))} tokens`
  return cost === null
    ? html`– <small>${used}, see <a href="/prices">prices</a></small>`
    : html`${dollars(cost)} <small>${used}</small>`
}

function versionFact({ version, sharedVersion, percent }: AutomationSummary): Html | string {
  if (version === null) return '–'
  if (sharedVersion === null) return count(version)
  return html`${count(version)} <small>${count(sharedVersion)} takes ${percent} %</small>`
}

/** What starts runs, and what hears of them, with the way there. */
function setUp({ schedules, nextAt, triggers, webhooks }: AutomationSummary, path: string): Html {
  return html`<small
    ><a href="${path}/schedules">${plural(schedules, 'schedule')}</a>${
      nextAt ? html` (next ${relativeTime(nextAt)})` : ''
    }, <a href="${path}/triggers">${plural(triggers, 'trigger')}</a>,
    <a href="${path}/webhooks">${plural(webhooks, 'webhook')}</a></small
  >`
}

const trendSection = ({ steps, runsTotal }: AutomationPage): Html | string =>
  runsTotal === 0
    ? ''
    : html`<section class="card low-chart" aria-labelledby="trend">
        <div class="card-head"><h2 id="trend">Last 7 days</h2></div>
        ${activityChart('7d', steps)}
      </section>`

function runsSection({ automation, runs, runsTotal }: AutomationPage): Html {
  const path = `/automations/${automation.automationId}`
  const rows = runs.map((row) => ({ ...row, automationName: undefined }))
  return html`<section class="card flush" aria-labelledby="runs">
    <div class="card-head">
      <h2 id="runs">Recent runs</h2>
      ${viewAll(`${path}/executions`, runsTotal)}
    </div>
    ${
      rows.length > 0
        ? runsTable('Recent runs', rows)
        : emptyState(
            'pulse',
            'No runs yet',
            html`<a href="#run">Start one on this page</a>, or
              <a href="${path}/integrate">call the API</a> from your systems.`,
          )
    }
  </section>`
}

/** The texts of the form: those of a refused one, or the inputs of an earlier run. */
interface StartForm {
  readonly inputs: Readonly<Record<string, string>>
  readonly problem?: string
  readonly reserves?: boolean
}

/** The automation that the form starts. */
interface StartSection {
  readonly session: Session
  readonly automation: Automation
  readonly fields: readonly InputField[]
  readonly forecast: Forecast | undefined
  readonly form: StartForm | undefined
}

/** The form that starts a run, with a field for each input; none for a crew that failed. */
function startSection({ session, automation, fields, forecast, form }: StartSection): Html {
  if (automation.status === 'Crew has Failed') return failedSection(automation)
  return html`<section class="card" aria-labelledby="run">
    <div class="card-head">
      <h2 id="run">Start a run</h2>
      <a class="hint push" href="/automations/${automation.automationId}/batches">Start many</a>
    </div>
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
      ${forecast ? reserveField(forecast, form?.reserves) : ''}
      <button class="button primary">${icon('play')}<span>Start</span></button>
    </form>
  </section>`
}

/** What a run takes is known only of an automation that has run often enough. */
const reserveField = ({ tokens, cost }: Forecast, isOn = false): Html =>
  html`<label class="tick">
    <input
      type="checkbox"
      name="reserve"
      value="true"
      ${isOn ? 'checked' : ''}
      ${tokens ? '' : 'disabled'}
    />
    <span
      >Reserve what it takes in the budgets, or start nothing
      <span class="hint"
        >${
          tokens
            ? `95 % take at most ${count(Math.ceil(tokens.runP95))} tokens, ` +
              (cost ? dollars(cost.runP95) : 'cost unknown')
            : 'Unknown: too few runs have ended'
        }</span
      ></span
    >
  </label>`

const failedSection = ({ automationId }: Automation): Html =>
  html`<section class="card" aria-labelledby="run">
    <div class="card-head"><h2 id="run">Start a run</h2></div>
    <p class="hint">
      Its crew has failed: a run would find nothing that takes it.
      <a href="/automations/${automationId}/deployments">Deploy it again</a> first.
    </p>
  </section>`
