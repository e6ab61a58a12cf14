import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations.ts'
import { comingTimes } from '../../../platform/schedules.ts'
import type { MissedPolicy, Schedule } from '../../../platform/schedules.ts'
import type { Session } from '../../../platform/sessions.ts'
import { plural } from '../frame/format.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page as frame } from '../frame/layout.ts'
import { csrfField, emptyState, noticeBox, pill, problemBox, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { doneNotice, undoAt } from '../frame/undo.ts'
import type { TypedSchedule } from './form.ts'

interface OfAutomation {
  readonly session: Session
  readonly automation: Automation
  readonly typed: TypedSchedule
  readonly problem?: string | undefined
  readonly notice?: string | undefined
}

/** The schedules of an automation, and the form of a new one. */
export interface SchedulesPage extends OfAutomation {
  readonly schedules: readonly Schedule[]
}

/** A schedule, with the form that changes it. */
export interface SchedulePage extends OfAutomation {
  readonly schedule: Schedule
  /** The button that takes back what the notice tells. */
  readonly undo?: string | undefined
}

const pathOf = ({ automationId }: Automation): string => `/automations/${automationId}/schedules`

/** The schedules of an automation. */
export function schedulesPage(view: SchedulesPage): Html {
  const { automation, schedules } = view
  const hint = `${plural(schedules.length, 'schedule')} of ${automation.name}`
  return frame(
    { title: 'Schedules', session: view.session, current: '/automations' },
    html`${automationHead({ automation, tab: 'integrate', title: 'Schedules', hint })}
      ${noticeBox(view.notice)}
      <section class="card flush" aria-label="Schedules">
        ${
          schedules.length > 0
            ? table(view)
            : emptyState('repeat', 'No schedules yet', 'A schedule starts runs by itself.')
        }
      </section>
      <section class="card narrow" aria-labelledby="new">
        <div class="card-head"><h2 id="new">New schedule</h2></div>
        ${problemBox(view.problem)} ${form(view, { action: pathOf(automation), verb: 'Create' })}
      </section>`,
  )
}

/** The page of a schedule. */
export function schedulePage(view: SchedulePage): Html {
  const { session, automation, schedule } = view
  const path = `${pathOf(automation)}/${schedule.id}`
  return frame(
    { title: schedule.name, session, current: '/automations' },
    html`${crumbs(automation, [{ path: pathOf(automation), name: 'Schedules' }])}
      <div class="page-head">
        <h1>${schedule.name}</h1>
        ${statePill(schedule)}
        <div class="buttons push">
          ${button(session, `${path}/${schedule.pausedAt ? 'resume' : 'pause'}`, {
            text: schedule.pausedAt ? 'Resume' : 'Pause',
          })}
          <a class="button danger" href="${path}/delete">Delete</a>
        </div>
      </div>
      ${doneNotice(session, view.notice, undoAt(path, view.undo))}
      <div class="columns">
        <section class="card" aria-labelledby="change">
          <div class="card-head"><h2 id="change">Times and inputs</h2></div>
          ${problemBox(view.problem)} ${form(view, { action: path, verb: 'Save' })}
        </section>
        <div>${nextSection(schedule)} ${lastSection(view)}</div>
      </div>`,
  )
}

const crumbs = (
  { automationId, name }: Automation,
  more: readonly { readonly path: string; readonly name: string }[],
): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    <a href="/automations">Automations</a
    ><a href="/automations/${automationId}">${name}</a
    >${more.map((each) => html`<a href="${each.path}">${each.name}</a>`)}
  </nav>`

const statePill = ({ pausedAt, lastProblem }: Schedule): Html =>
  pausedAt
    ? pill('idle', 'Paused')
    : lastProblem === null
      ? pill('good', 'On')
      : pill('bad', 'Cannot start')

const button = ({ csrfToken }: Session, action: string, { text }: { text: string }): Html =>
  html`<form method="post" action="${action}">
    ${csrfField(csrfToken)}
    <button class="button">${text}</button>
  </form>`

const table = ({ automation, schedules }: SchedulesPage): Html =>
  html`<table class="list">
    <caption class="unseen">
      Schedules
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">State</th>
        <th scope="col">Times</th>
        <th scope="col">Next</th>
      </tr>
    </thead>
    <tbody>
      ${schedules.map(
        (schedule) =>
          html`<tr>
            <td class="lead">
              <a href="${pathOf(automation)}/${schedule.id}">${schedule.name}</a>
            </td>
            <td class="state">${statePill(schedule)}</td>
            <td data-label="Times">
              <span class="mono">${schedule.cron}</span>
              <span class="sub">${schedule.timeZone}</span>
            </td>
            <td data-label="Next">${schedule.nextAt ? time(schedule.nextAt) : '–'}</td>
          </tr>`,
      )}
    </tbody>
  </table>`

const MISSED: Readonly<Record<MissedPolicy, string>> = {
  skip: 'Skip them',
  run_once: 'Start one run for all of them',
}

function form({ session, typed }: OfAutomation, to: { action: string; verb: string }): Html {
  return html`<form method="post" action="${to.action}" class="stack">
    ${csrfField(session.csrfToken)}
    <label
      >Name <input name="name" value="${typed.name}" maxlength="100" required autocomplete="off"
    /></label>
    <div class="two">
      <label
        >Times, as cron
        <input
          class="mono"
          name="cron"
          value="${typed.cron}"
          placeholder="30 8 * * MON-FRI"
          maxlength="200"
          required
          autocomplete="off"
        />
        <span class="field-hint">Minute, hour, day of the month, month, day of the week</span>
      </label>
      <label
        >Time zone
        <input
          name="time_zone"
          value="${typed.timeZone}"
          placeholder="Europe/Berlin"
          maxlength="64"
          required
          autocomplete="off"
        />
        <span class="field-hint">A name such as Europe/Berlin or UTC</span>
      </label>
    </div>
    <label
      >Missed times, while no worker ran
      <select name="missed">
        ${Object.entries(MISSED).map(
          ([value, name]) =>
            html`<option value="${value}" ${value === typed.missed ? 'selected' : ''}>
              ${name}
            </option>`,
        )}
      </select>
    </label>
    <label
      >Inputs, as JSON
      <textarea class="mono" name="inputs" rows="6" spellcheck="false">${typed.inputs}</textarea>
    </label>
    <div class="buttons"><button class="button primary">${to.verb}</button></div>
  </form>`
}

function nextSection(schedule: Schedule): Html {
  const { pausedAt } = schedule
  const times = comingTimes(schedule)
  return html`<section class="card" aria-labelledby="next">
    <div class="card-head"><h2 id="next">Next five times</h2></div>
    ${pausedAt ? html`<p class="hint">Paused: it would come at these times.</p>` : ''}
    <ol class="plan">
      ${times.map((each) => html`<li>${time(each)}</li>`)}
    </ol>
  </section>`
}

function lastSection({ automation, schedule }: SchedulePage): Html {
  const { lastAt, lastRunId, lastProblem } = schedule
  const run = `/automations/${automation.automationId}/executions/${lastRunId}`
  return html`<section class="card" aria-labelledby="last">
    <div class="card-head"><h2 id="last">Last time</h2></div>
    ${problemBox(lastProblem ?? undefined)}
    ${lastAt ? html`<p>${time(lastAt)}</p>` : html`<p class="hint">It has not run yet.</p>`}
    ${lastRunId ? html`<p><a href="${run}">The last run that it started</a></p>` : ''}
  </section>`
}
