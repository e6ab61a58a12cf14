import { html } from 'hono/html'
import { PYTHON_VERSIONS } from '../../../platform/crews/crew-settings-fields.ts'
import { CREW_WAYS } from '../../../platform/crews/crew-settings.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { csrfField, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { automationPath } from './own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import { crumbs, fieldNotes, textField } from './parts.ts'
import type { TypedSettings } from './settings-form.ts'

/** The form of the settings of a crew. */
export interface SettingsPage {
  readonly session: Session
  readonly crew: OwnCrew
  readonly typed: TypedSettings
  /** What is wrong, by the name of the field. */
  readonly problems: TypedSettings
  readonly notice?: string | undefined
  /** What is said of settings that files keep. */
  readonly managed?: Html | string
}

const WAY_NAMES: Readonly<Record<string, string>> = {
  process: 'A process beside the worker',
  slim: 'A pod that installs the project itself',
  image: 'An image that is built of it',
}

/** The page with the settings of a crew. */
export function settingsPage(view: SettingsPage): Html {
  const { session, crew, problems, managed, notice } = view
  const { automation } = crew
  const path = automationPath(automation)
  const isWrong = Object.keys(problems).length > 0
  return page(
    { title: 'Settings of the crew', session, current: '/automations' },
    html`${crumbs(automation, { path: `${path}/deployments`, name: 'Crew' })}
      <div class="page-head"><h1>Settings of the crew</h1></div>
      ${noticeBox(notice)} ${managed}
      ${isWrong ? problemBox('Nothing is saved: see the fields below.') : ''}
      <form method="post" action="${path}/crew-settings" class="card narrow stack">
        ${csrfField(session.csrfToken)}
        <div class="card-head"><h2>From now on</h2></div>
        ${field(view, 'replicas', 'Processes', { hint: 'From 0 to 20.' })}
        ${field(view, 'idle_minutes', 'Sleep after minutes without runs', {
          placeholder: 'Never',
          hint: 'The next run wakes it.',
        })}
        <div class="card-head"><h2>From the next deployment on</h2></div>
        ${choice(view, 'way', { label: 'Way to run it', values: CREW_WAYS, names: WAY_NAMES })}
        ${choice(view, 'python_version', { label: 'Python', values: PYTHON_VERSIONS })}
        ${field(view, 'entrypoint', 'What is run', {
          placeholder: 'As it is found in the project',
          hint: 'As module:name, such as my_crew.main:run.',
        })}
        <div class="two">${quantities(view)}</div>
        ${places(view)}
        <div class="buttons">
          <button class="button primary">Save</button>
          <button class="button" name="deploy" value="yes">Save and deploy again</button>
        </div>
      </form>`,
  )
}

interface Extra {
  readonly hint?: string
  readonly placeholder?: string
}

const field = (
  { typed, problems }: SettingsPage,
  name: string,
  ...[label, extra = {}]: readonly [label: string, extra?: Extra]
): Html => textField({ name, label, value: typed[name] ?? '', problem: problems[name], ...extra })

const quantities = (view: SettingsPage): Html => {
  const quantity = (name: string, label: string, placeholder: string): Html =>
    html`<div>${field(view, name, label, { placeholder })}</div>`
  return html`${quantity('cpu_request', 'Processors asked for', '100m')}
  ${quantity('cpu_limit', 'Processors at most', '1')}
  ${quantity('memory_request', 'Memory asked for', '256Mi')}
  ${quantity('memory_limit', 'Memory at most', '1Gi')}`
}

interface Choice {
  readonly label: string
  readonly values: readonly string[]
  readonly names?: Readonly<Record<string, string>>
}

const choice = (
  { typed, problems }: SettingsPage,
  name: string,
  { label, values, names = {} }: Choice,
): Html =>
  html`<label
      >${label}
      <select name="${name}">
        <option value="">Default of the platform</option>
        ${values.map(
          (value) =>
            html`<option value="${value}" ${value === typed[name] ? 'selected' : ''}>
              ${names[value] ?? value}
            </option>`,
        )}
      </select>
    </label>
    ${fieldNotes({ name, problem: problems[name] })}`

const places = ({ typed, problems }: SettingsPage): Html =>
  html`<label
      >Hosts and networks that it may reach <span class="quiet">(optional)</span>
      <textarea
        name="egress"
        rows="3"
        class="mono"
        ${problems['egress'] ? html`aria-invalid="true"` : ''}
        aria-describedby="egress-hint"
      >
${typed['egress'] ?? ''}</textarea>
    </label>
    ${fieldNotes({
      name: 'egress',
      problem: problems['egress'],
      hint:
        'One in a line, such as api.example.com, 10.20.0.0/16 or internet, beside what every ' +
        'crew may reach, and within what the operator allows.',
    })}`
