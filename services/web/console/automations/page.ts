import { html } from 'hono/html'
import type { AutomationOauth } from '../../../platform/automation-oauth.ts'
import type { Budget } from '../../../platform/budgets.ts'
import type { CrewDefinition } from '../../../platform/crew-definition.ts'
import type { InputField } from '../../../platform/crew-inputs.ts'
import type { Automation } from '../../../platform/automations.ts'
import type { ListedRun } from '../../../platform/run-list.ts'
import type { Page } from '../../../platform/paging.ts'
import { isOwnCrew } from '../../../platform/own-crew-definition.ts'
import type { Session } from '../../../platform/sessions.ts'
import type { ListedToken } from '../../../platform/static-tokens.ts'
import type { Webhook } from '../../../platform/webhooks.ts'
import { budgetsSection } from './budgets-section.ts'
import { runsTable } from '../frame/lists/runs-table.ts'
import { plural } from '../frame/format.ts'
import { apiSection } from './api-section.ts'
import type { SnippetsFor } from './client-snippets.ts'
import { crewSection } from './crew-section.ts'
import { page } from '../frame/layout.ts'
import {
  csrfField,
  automationPill,
  automationReason,
  emptyState,
  noticeBox,
  problemBox,
  viewAll,
} from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { startSection } from './start-section.ts'
import type { StartForm } from './start-section.ts'
import { tokensSection } from './tokens-section.ts'
import { schedulesSection } from './schedules-section.ts'
import { webhooksSection } from './webhooks-section.ts'
import type { TokenForm } from './tokens-section.ts'

/** The page of an automation, as its routes read it. */
export interface AutomationPage {
  readonly session: Session
  readonly automation: Automation
  readonly definition: CrewDefinition
  readonly fields: readonly InputField[]
  /** The newest ones. */
  readonly runs: readonly ListedRun[]
  readonly runsTotal: number
  /** The newest ones. */
  readonly tokens: Page<ListedToken>
  readonly webhooks: readonly Webhook[]
  readonly budgets: readonly Budget[]
  /** The OAuth settings of its organization, if there are any. */
  readonly oauth: AutomationOauth | undefined
  /** The address of its API. */
  readonly apiUrl: string
  readonly snippetsFor: SnippetsFor
  readonly notice?: string | undefined
  /** A form that was refused, with what was typed. */
  readonly tokenForm?: TokenForm
  readonly tokenDaysMax: number
  readonly startForm?: StartForm | undefined
  readonly limitProblem?: string
}

/** The page of an automation: its runs, its API, its tokens, and the form that starts a run. */
export function automationPage(view: AutomationPage): Html {
  const { session, automation, definition, notice } = view
  const { name, status } = automation
  return page(
    { title: name, session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/automations">Automations</a></nav>
      <div class="page-head">
        <h1>${name}</h1>
        ${automationPill(status)}
      </div>
      ${noticeBox(notice)} ${automationReason(automation)}
      <div class="columns side-first">
        <div>
          ${runsSection(view)} ${apiSection(view)}
          ${tokensSection({ ...view, form: view.tokenForm })}
        </div>
        <div>
          ${isOwnCrew(definition) ? crewSection(automation) : ''}
          ${startSection({ ...view, form: view.startForm })} ${detailsSection(view)}
          ${schedulesSection(view)} ${budgetsSection(view)} ${webhooksSection(view)}
        </div>
      </div>`,
  )
}

function runsSection({ automation, runs, runsTotal }: AutomationPage): Html {
  const rows = runs.map((row) => ({ ...row, automationName: undefined }))
  return html`<section class="card flush" aria-labelledby="runs">
    <div class="card-head">
      <h2 id="runs">Recent runs</h2>
      ${viewAll(`/automations/${automation.automationId}/executions`, runsTotal)}
    </div>
    ${
      rows.length > 0
        ? runsTable('Recent runs', rows)
        : emptyState(
            'pulse',
            'No runs yet',
            html`<a href="#run">Start one on this page</a>, or <a href="#api">call the API</a> from
              your systems.`,
          )
    }
  </section>`
}

function detailsSection(view: AutomationPage): Html {
  const { automation, definition, fields } = view
  return html`<section class="card" aria-labelledby="details">
    <div class="card-head"><h2 id="details">Details</h2></div>
    <dl class="facts">
      <dt>Automation ID</dt>
      <dd class="mono select">${automation.automationId}</dd>
      <dt>Slug</dt>
      <dd class="mono">${automation.slug}</dd>
      <dt>Inputs</dt>
      <dd>
        ${
          fields.length > 0
            ? html`<ul class="chips">
                ${fields.map(({ name }) => html`<li class="mono">${name}</li>`)}
              </ul>`
            : 'None'
        }
      </dd>
      ${isOwnCrew(definition) ? '' : designFacts(definition)}
    </dl>
    ${limitForm(view)} ${isOwnCrew(definition) ? '' : plan(definition)}
  </section>`
}

const designFacts = ({ agents, tasks, llm }: CrewDefinition): Html =>
  html`<dt>Model</dt>
    <dd class="mono">${llm.model}</dd>
    <dt>Crew</dt>
    <dd>${plural(agents.length, 'agent')}, ${plural(tasks.length, 'task')}</dd>`

const plan = (definition: CrewDefinition): Html =>
  html`<details class="more">
    <summary>Agents and tasks</summary>
    <ol class="plan">
      ${definition.tasks.map(
        (task) =>
          html`<li>
            <strong class="mono">${task.key}</strong>
            <span class="sub">${roleOf(definition, task.agent)}</span>
            <p>${task.description}</p>
          </li>`,
      )}
    </ol>
  </details>`

/**
 * The form of the limit, which keeps a busy automation from taking all workers, and its model from
 * too many calls.
 */
function limitForm({ session, automation, limitProblem }: AutomationPage): Html {
  return html`<form
    method="post"
    action="/automations/${automation.automationId}/concurrency"
    class="stack"
  >
    ${csrfField(session.csrfToken)} ${problemBox(limitProblem)}
    <div class="row">
      <label class="grow"
        >Runs at a time
        <input
          name="concurrency_max"
          value="${automation.concurrencyMax ?? ''}"
          inputmode="numeric"
          placeholder="No limit"
          autocomplete="off"
        />
      </label>
      <button class="button" aria-label="Save the limit">Save</button>
    </div>
  </form>`
}

function roleOf({ agents }: CrewDefinition, key: string | undefined): string {
  if (key === undefined) return 'The manager gives it to agents'
  return agents.find((agent) => agent.key === key)?.role ?? key
}
