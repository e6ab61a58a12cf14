import { html } from 'hono/html'
import type { AutomationLife } from '../../../platform/crews/automation-life.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Budget } from '../../../platform/budgets/budgets.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { isOwnCrew } from '../../../platform/definitions/own-crew-definition.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { OAUTH_CLIENTS_PATH } from '../frame/addresses.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { csrfField, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'
import { budgetPill, budgetUse, periodName } from '../frame/budget-use.ts'

/** The settings of an automation, as its routes read them. */
export interface SettingsPage {
  readonly session: Session
  readonly automation: Automation
  readonly definition: CrewDefinition
  readonly budgets: readonly Budget[]
  readonly life: AutomationLife
  readonly notice?: string | undefined
  readonly limitProblem?: string
}

/** The limits of an automation, its OAuth client, and where the settings of its crew are. */
export function settingsPage(view: SettingsPage): Html {
  const { session, automation, definition, notice } = view
  return page(
    { title: `${automation.name}: settings`, session, current: '/automations' },
    html`${automationHead({ automation, tab: 'settings' })} ${noticeBox(notice)}
      <div class="columns">
        <div>${limitSection(view)} ${budgetsSection(view)}</div>
        <div>
          ${clientSection(automation)}
          ${isOwnCrew(definition) ? crewSettingsSection(automation) : lifeSection(view)}
        </div>
      </div>`,
  )
}

/**
 * The form of the limit, which keeps a busy automation from taking all workers, and its model from
 * too many calls.
 */
function limitSection({ session, automation, limitProblem }: SettingsPage): Html {
  return html`<section class="card" aria-labelledby="limit">
    <div class="card-head"><h2 id="limit">Runs at a time</h2></div>
    <p class="hint">Runs beyond the limit wait in the queue.</p>
    <form method="post" action="/automations/${automation.automationId}/concurrency" class="stack">
      ${csrfField(session.csrfToken)} ${problemBox(limitProblem)}
      <div class="row">
        <label class="grow"
          >Limit
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
    </form>
  </section>`
}

const clientSection = ({ oauthClientId }: Automation): Html =>
  html`<section class="card" aria-labelledby="client">
    <div class="card-head"><h2 id="client">OAuth Client ID</h2></div>
    ${
      oauthClientId === null
        ? html`<p class="hint">No OAuth client may call it.</p>`
        : html`<p class="mono break">${oauthClientId}</p>`
    }
    <p><a class="button" href="${OAUTH_CLIENTS_PATH}">Client ID Filtering</a></p>
  </section>`

const crewSettingsSection = ({ automationId }: Automation): Html =>
  html`<section class="card" aria-labelledby="crew">
    <div class="card-head"><h2 id="crew">Crew</h2></div>
    <ul class="plan">
      <li>
        <a href="/automations/${automationId}/environment">Environment</a>
        <span class="sub">variables and secrets</span>
      </li>
      <li>
        <a href="/automations/${automationId}/crew-settings">Crew settings</a>
        <span class="sub">size, Python, what it may reach</span>
      </li>
      <li>
        <a href="/automations/${automationId}/crew-repository">Git repository</a>
        <span class="sub">pull and deploy its commits</span>
      </li>
    </ul>
    <p>
      <a class="button danger" href="/automations/${automationId}/delete">Delete the automation</a>
    </p>
  </section>`

/** Stops, starts and deletes an automation that is designed here. */
function lifeSection({ session, automation, life }: SettingsPage): Html {
  const path = `/automations/${automation.automationId}`
  return html`<section class="card" aria-labelledby="life">
    <div class="card-head"><h2 id="life">Stop or delete</h2></div>
    <p class="hint">
      ${
        life.stoppedAt
          ? 'It is stopped: runs wait in the queue until it is started.'
          : 'Runs of a stopped automation wait in the queue until it is started. Those in ' +
            'progress are finished.'
      }
    </p>
    ${
      life.stoppedAt
        ? html`<form method="post" action="${path}/crew/start">
            ${csrfField(session.csrfToken)}
            <button class="button">Start the automation</button>
          </form>`
        : finalForm(session, {
            action: `${path}/crew/stop`,
            what: 'Stop the automation',
            verb: 'Stop it',
          })
    }
    <p><a class="button danger" href="${path}/delete">Delete the automation</a></p>
  </section>`
}

/** The automation whose budgets the section shows. */
interface BudgetsSection {
  readonly automation: Automation
  readonly budgets: readonly Budget[]
}

/** The limits on what the models of an automation cost. */
function budgetsSection({ automation, budgets }: BudgetsSection): Html {
  const path = `/automations/${automation.automationId}/budgets`
  return html`<section class="card" aria-labelledby="budgets">
    <div class="card-head"><h2 id="budgets">Budgets</h2></div>
    ${
      budgets.length > 0
        ? html`<ul class="plan">
            ${budgets.map(
              (budget) =>
                html`<li>
                  <strong>${periodName(budget.period)}</strong> ${budgetPill(budget)}
                  ${budgetUse(budget)}
                </li>`,
            )}
          </ul>`
        : html`<p class="hint">
            This automation has no budget of its own. Those of the organization apply.
          </p>`
    }
    <p>
      <a class="button" href="${path}">${budgets.length > 0 ? 'Manage budgets' : 'Set a budget'}</a>
    </p>
  </section>`
}
