import { html } from 'hono/html'
import type { CrewVariable } from '../../../platform/crews/crew-variables.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { ago, csrfField, emptyState, listTable, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'
import { automationPath } from './own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import { crumbs, postButton } from './parts.ts'

/** The variables of a crew, as the page shows them. */
interface EnvironmentPage {
  readonly session: Session
  readonly crew: OwnCrew
  readonly variables: readonly CrewVariable[]
  /** What is said of those that files keep. */
  readonly managed: Html | string
  readonly notice?: string | undefined
  readonly problem?: string | undefined
  /** The name that was typed in a form that was refused. */
  readonly typedName?: string | undefined
}

/** The page with the environment of a crew. */
export function environmentPage(view: EnvironmentPage): Html {
  const { session, crew, variables, managed, notice, problem } = view
  const { automation } = crew
  const path = automationPath(automation)
  return page(
    { title: 'Environment of the crew', session, current: '/automations' },
    html`${crumbs(automation, { path: `${path}/deployments`, name: 'Crew' })}
      <div class="page-head">
        <h1>Environment of the crew</h1>
        <div class="buttons push">
          ${postButton(session, { action: `${path}/crew/deploy-again`, text: 'Deploy again' })}
        </div>
      </div>
      ${noticeBox(notice)} ${managed} ${problemBox(problem)}
      <div class="columns">
        <section class="card flush" aria-labelledby="variables">
          <div class="card-head"><h2 id="variables">Variables</h2></div>
          ${
            variables.length > 0
              ? table(view, path)
              : emptyState(
                  'key',
                  'No variables yet',
                  'Keys of models and of tools, and whatever else the project reads of its ' +
                    'environment, belong here.',
                )
          }
        </section>
        <div>${form(view, path)}</div>
      </div>`,
  )
}

const table = ({ session, variables }: EnvironmentPage, path: string): Html =>
  html`${listTable(
      'Variables',
      ['Name', 'Value', 'Set', ['unseen', 'Delete']],
      variables.map(
        ({ name, value, updatedAt }) =>
          html`<tr>
            <td class="lead mono">${name}</td>
            <td data-label="Value" class="mono break">
              ${value === null ? html`<span class="quiet">secret</span>` : value}
            </td>
            <td data-label="Set">${ago(updatedAt)}</td>
            <td>
              ${finalForm(session, {
                action: `${path}/environment/delete`,
                what: `Delete ${name}`,
                fields: { name },
              })}
            </td>
          </tr>`,
      ),
    )}
    <p class="card-foot hint">
      They apply from the next deployment on. Secrets are never shown again: set one anew to change
      it.
    </p>`

const form = ({ session, typedName = '' }: EnvironmentPage, path: string): Html =>
  html`<section class="card" aria-labelledby="set">
    <div class="card-head"><h2 id="set">Set a variable</h2></div>
    <form method="post" action="${path}/environment" class="stack">
      ${csrfField(session.csrfToken)}
      <label
        >Name
        <input
          name="name"
          class="mono"
          value="${typedName}"
          maxlength="128"
          autocomplete="off"
          required
        />
      </label>
      <label
        >Value
        <textarea name="value" rows="2" class="mono" autocomplete="off"></textarea>
      </label>
      <label class="tick"
        ><input type="checkbox" name="secret" value="yes" checked /> It is a secret</label
      >
      <div class="buttons"><button class="button primary">Set</button></div>
    </form>
    <details class="more">
      <summary>Many at once</summary>
      <form method="post" action="${path}/environment/many" class="stack">
        ${csrfField(session.csrfToken)}
        <label
          >Lines of a .env file
          <textarea name="lines" rows="5" class="mono" autocomplete="off"></textarea>
        </label>
        <p class="hint">Each becomes a secret.</p>
        <div class="buttons"><button class="button">Set all</button></div>
      </form>
    </details>
  </section>`
