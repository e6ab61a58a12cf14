import { html } from 'hono/html'
import type { Automation, AutomationStatus } from '../../../platform/automations/automations.ts'
import type { Run, RunStatus, Trigger } from '../../../platform/runs/runs.ts'
import { CSRF_FIELD } from '../../gate/callers/csrf-field.ts'
import { absoluteTime, count, duration, relativeTime, sentence } from './format.ts'
import type { Html } from './html.ts'
import { icon } from './icons.ts'
import { visibleText } from './text/visible-text.ts'
import type { IconName } from './icons.ts'

export type { Html } from './html.ts'

/** The colour of a state. */
export type Tone = 'good' | 'bad' | 'busy' | 'waiting' | 'idle'

const RUN_TONES = {
  queued: 'waiting',
  running: 'busy',
  waiting: 'waiting',
  completed: 'good',
  error: 'bad',
  stopped: 'idle',
} as const satisfies Record<RunStatus, Tone>

const AUTOMATION_TONES = {
  'Crew is Provisioning': 'busy',
  'Crew is Online': 'good',
  'Crew is Offline': 'idle',
  'Crew has Failed': 'bad',
} as const satisfies Record<AutomationStatus, Tone>

const STATUS_NAMES = {
  queued: 'Queued',
  running: 'Running',
  waiting: 'Waiting',
  completed: 'Completed',
  error: 'Failed',
  stopped: 'Stopped',
} as const satisfies Record<RunStatus, string>

/** Returns the status of a run as pages say it. */
export const statusName = (status: RunStatus): string => STATUS_NAMES[status]

const TRIGGER_NAMES: Readonly<Record<Trigger, string>> = {
  api: 'Automation API',
  console: 'Console',
  designer: 'Designer API',
  assistant: 'Assistant',
  schedule: 'Schedule',
  event: 'Event',
  run: 'Another run',
}

/** Returns what started a run, as pages say it. */
export const triggerName = (trigger: Trigger): string => TRIGGER_NAMES[trigger]

/** The status of a run, in its colour. */
export const runPill = (status: RunStatus): Html => pill(RUN_TONES[status], statusName(status))

/** The mark of a run that tests a draft. */
export const testPill = (): Html => pill('idle', 'test')

/** The status of an automation, in its colour. */
export const automationPill = (status: AutomationStatus): Html =>
  pill(AUTOMATION_TONES[status], status.replace(/^Crew (is|has) /, ''))

/** A state in a word or two, in its colour. */
export const pill = (tone: Tone, text: string): Html =>
  html`<span class="pill ${tone}">${sentence(text)}</span>`

/** The state of a row, whatever else is said of it. */
export const statePill = ([tone, text]: readonly [Tone, string, ...unknown[]]): Html =>
  pill(tone, text)

/** A time as people say it, with the exact one below. */
export const time = (date: Date): Html =>
  html`<time datetime="${date.toISOString()}"
    >${relativeTime(date)} <span class="sub">${absoluteTime(date)}</span></time
  >`

/** A time in a row of a list, with the exact one in its title. */
export const ago = (date: Date): Html =>
  html`<time datetime="${date.toISOString()}" title="${absoluteTime(date)}"
    >${relativeTime(date)}</time
  >`

type Times = Pick<Run, 'startedAt' | 'finishedAt'>

/** Returns the time that a run took, or has taken so far. */
export function ranFor({ startedAt, finishedAt }: Times, now: Date = new Date()): string {
  return startedAt ? duration((finishedAt ?? now).getTime() - startedAt.getTime()) : '–'
}

/** Who started a run, and by what; a dash where that is not known. */
export const starterOf = ({
  trigger,
  starterName,
}: {
  readonly trigger?: Trigger | null
  readonly starterName?: string | null
}): Html | string =>
  trigger
    ? html`${starterName ?? triggerName(trigger)} <span class="sub">${triggerName(trigger)}</span>`
    : '–'

/** Returns the tokens that a run used, input and output together. */
export const tokensOf = ({ usage }: Pick<Run, 'usage'>): string =>
  usage ? count(usage.inputTokens + usage.outputTokens) : '–'

/** The content of an empty list: what will be here, and how to begin. */
export const emptyState = (name: IconName, title: string, text: Html | string): Html =>
  html`<div class="empty">
    <span class="empty-icon">${icon(name)}</span>
    <p class="empty-title">${title}</p>
    <p>${text}</p>
  </div>`

/** The confirmation of what was just done. */
export const noticeBox = (text: string | undefined): Html | string =>
  text ? html`<p class="notice good" role="status">${icon('check')}<span>${text}</span></p>` : ''

/** The problem with what was just asked for, or with what was deployed. */
export function problemBox(text: string | undefined): Html | string {
  if (!text) return ''
  const [summary = '', ...rest] = text.split('\n\n')
  const lines = visibleText(rest.join('\n\n').trimEnd())
  if (lines === '') {
    return html`<p class="notice bad" role="alert">${icon('alert')}<span>${text}</span></p>`
  }
  return html`<div class="notice bad" role="alert">
    ${icon('alert')}
    <div>
      <p>${lines.slice(lines.lastIndexOf('\n') + 1)}</p>
      <p class="hint">${summary}</p>
      <details class="more">
        <summary>The last lines</summary>
        <pre class="code log" tabindex="0" aria-label="The last lines"><code>${lines}</code></pre>
      </details>
    </div>
  </div>`
}

/** Why an automation has its status: a problem, unless its crew is on its way. */
export function automationReason({
  status,
  statusReason,
}: Pick<Automation, 'status' | 'statusReason'>): Html | string {
  if (statusReason === null) return ''
  return status === 'Crew is Provisioning' ? warningBox(statusReason) : problemBox(statusReason)
}

/** What people are told of the mail with a link, if there was to be one. */
export function mailedBox(
  mailed: { readonly to: string; readonly isSent: boolean } | undefined,
): Html | string {
  if (mailed === undefined) return ''
  const { to, isSent } = mailed
  if (isSent) return noticeBox(`A mail with the link was sent to ${to}.`)
  return problemBox(
    `The mail to ${to} could not be sent; the log has the reason. The link is good: pass it on ` +
      'yourself.',
  )
}

/** A fact that the reader should know before going on. */
export const warningBox = (text: Html | string): Html =>
  html`<div class="notice waiting" role="status">
    ${icon('alert')}
    <div>${text}</div>
  </div>`

/** The hidden field that proves that a form came from our own page. */
export const csrfField = (token: string): Html =>
  html`<input type="hidden" name="${CSRF_FIELD}" value="${token}" />`

/** A text to copy. A click selects all of it, and the script of the console adds a button. */
export const copyable = (label: string, text: string): Html =>
  html`<div class="copy-box">
    <pre class="code copyable" tabindex="0" aria-label="${label}"><code>${text}</code></pre>
  </div>`

/** The link from the first rows of a list to all of them; nothing for an empty list. */
export const viewAll = (path: string, total: number): Html | string =>
  total > 0 ? html`<a href="${path}">View all ${count(total)}</a>` : ''

/** A list of facts, each under its name. */
export const factList = (
  className: string,
  facts: readonly (readonly [name: string, value: Html | string])[],
): Html =>
  html`<dl class="${className}">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`

/** The name of a column, with its class; an `unseen` one is for screen readers alone. */
type ColumnHead = string | readonly [className: string, text: string]

/** A list of rows, below the names of its columns. */
export const listTable = (
  caption: string,
  heads: readonly ColumnHead[],
  rows: Html | readonly (Html | string)[],
): Html =>
  html`<table class="list">
    <caption class="unseen">
      ${caption}
    </caption>
    <thead>
      <tr>
        ${heads.map(headCell)}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`

function headCell(head: ColumnHead): Html {
  if (typeof head === 'string') return html`<th scope="col">${head}</th>`
  const [className, text] = head
  return className === 'unseen'
    ? html`<th scope="col"><span class="unseen">${text}</span></th>`
    : html`<th scope="col" class="${className}">${text}</th>`
}
