import { html } from 'hono/html'
import { isObject } from '../../../shared/is-object.ts'
import { nsText } from '../frame/amounts.ts'
import { clockTime, count, duration, pretty, sentence } from '../frame/format.ts'
import { kindChip, kindName } from '../frame/kinds.ts'
import type { KindName } from '../frame/kinds.ts'
import { factList } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { foreignText, foreignValue } from '../frame/text/foreign-text.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { axisTimes, timeBar } from '../frame/time-bar.ts'
import { foldItems } from './fold-items.ts'
import type { RunStep, RunTimeline } from './run-steps.ts'

interface Field {
  readonly key: string
  readonly name: string
  readonly text: string
}

const NS = 1e6
/** Deeper steps are indented no further. */
const INDENT_MAX = 4
/** The longest text, in characters, that is a fact among others; longer ones have a fold. */
const SHORT = 160
/** What a step is for: never among its details. */
const RESULTS = new Set(['output', 'result'])
/** Shown by the row itself, or of no use to a reader. */
const HIDDEN = new Set([
  'type',
  'at',
  'seq',
  'step',
  'kind',
  'name',
  'parent',
  'path',
  'started_at',
  'ended_at',
  'response_id',
  'server_address',
  'server_port',
  'error',
  'skipped',
])

/**
 * The steps of a run on one time axis: each has a line that changes while the run goes on, and that
 * opens a panel beside the list with what the step says. The path is that of the run.
 */
export const stepList = (timeline: RunTimeline, path: string): Html =>
  html`${
      timeline.steps.length > 0
        ? html`<div class="step-line step-head" data-part="axis">
            <span>Step</span><span class="number">Tokens</span>
            <span class="number">Duration</span>
            <span class="axis">${axisTimes((timeline.endMs - timeline.beginMs) * NS)}</span>
          </div>`
        : html`<div data-part="axis"></div>`
    }
    <ol class="steps" data-part="steps">
      ${foldItems(timeline.steps).map((step) => stepRow(step, timeline, path))}
    </ol>`

function stepRow(step: RunStep, timeline: RunTimeline, path: string): Html {
  const { id, depth, said, isError } = step
  const panel = `${id}-panel`
  return html`<li id="${id}" class="${isError ? 'bad' : ''}" data-say="${said}">
    <button
      class="step-line"
      type="button"
      popovertarget="${panel}"
      data-part="line-${id}"
      ${written(step)}
    >
      ${line(step, timeline)}
    </button>
    <div class="step-note d${Math.min(depth, INDENT_MAX)}" data-part="note-${id}">
      ${problem(step)} ${whySkipped(step)}
    </div>
    <section class="side-panel" id="${panel}" popover aria-labelledby="${panel}-name">
      <div class="card-head">
        <h3 id="${panel}-name">${titleOf(step)}</h3>
        <button class="button" type="button" popovertarget="${panel}" popovertargetaction="hide">
          Close
        </button>
      </div>
      <div data-part="body-${id}">${panelFacts(step, timeline)} ${again(step, path)}</div>
    </section>
  </li>`
}

/** Marks the end of a call, with which its model writes no more. */
function written({ kind, endMs, facts }: RunStep): Html | string {
  const key = facts['step']
  const isOver = kind === 'llm' && endMs !== null && typeof key === 'string'
  return isOver ? html`data-written="${key}"` : ''
}

const insteadOf = (said: unknown): Html | string =>
  isObject(said) && typeof said['model'] === 'string'
    ? html`<span class="flag waiting">Instead of ${visibleText(said['model'])}</span>`
    : ''

function line(step: RunStep, { beginMs, endMs }: RunTimeline): Html {
  const { depth, kind, tokens, isError, isCutOff, facts } = step
  const took = step.endMs === null ? null : step.endMs - step.startMs
  const bar = {
    kind,
    startNs: (step.startMs - beginMs) * NS,
    durationNs: took === null ? null : took * NS,
    isCritical: true,
  }
  return html`<span class="span-name d${Math.min(depth, INDENT_MAX)}">
      ${titleOf(step)} ${isError ? html`<span class="flag bad">Error</span>` : ''}
      ${facts['skipped'] === undefined ? '' : html`<span class="flag">Skipped</span>`}
      ${insteadOf(facts['instead_of'])}
      ${isCutOff ? html`<span class="flag waiting">Not finished</span>` : ''}
    </span>
    <span class="number">${tokens === null ? '' : count(tokens)}</span>
    <span class="number">${tookText(kind, took)}</span>
    <span class="axis">${timeBar(bar, (endMs - beginMs) * NS)}</span>`
}

/** Its kind, and what of it is meant: the tool by its name, or else the task, the model. */
function titleOf({ kind, name, isNamed, label = '' }: RunStep): Html {
  const [what, more] = isNamed ? [name, label] : [label, '']
  return html`${kindChip(kind, isNamed ? kindName(kind) : name)}
    <strong>${what}</strong> ${more === '' ? '' : html`<span class="quiet">${more}</span>`}`
}

/** What happened at one time took none. */
function tookText(kind: KindName, ms: number | null): string {
  if (ms === null) return kind === 'approval' ? 'waiting' : 'running'
  return ms === 0 ? '' : nsText(ms * NS)
}

function problem({ facts: { error } }: RunStep): Html | string {
  const fields = fieldsOf({ error })
  if (fields.length === 0) return ''
  const text = (key: string): string | undefined => fields.find((each) => each.key === key)?.text
  const others = fields.filter(({ key }) => key !== 'code' && key !== 'message')
  const code = text('code')
  return html`<div class="step-error">
    ${code === undefined ? '' : html`<p><code>${code}</code></p>`}
    ${foreignText(text('message') ?? '', 'Error')} ${others.length > 0 ? fieldList(others) : ''}
  </div>`
}

const whySkipped = ({ facts: { skipped } }: RunStep): Html | string =>
  typeof skipped === 'string' ? html`<p class="hint">${visibleText(skipped)}</p>` : ''

/** Calls of models can be made again from their record. */
const again = ({ kind, facts: { step } }: RunStep, path: string): Html | string =>
  kind === 'llm' && typeof step === 'string'
    ? html`<p><a class="button" href="${path}/calls/${step}">Try this call again</a></p>`
    : ''

function panelFacts({ id, facts, startMs }: RunStep, { beginMs }: RunTimeline): Html {
  const fields = Object.entries(facts).flatMap(([key, value]) =>
    HIDDEN.has(key) || isOfRun(facts, key) ? [] : fieldsOf({ [key]: value }),
  )
  const results = fields.filter(({ key }) => RESULTS.has(key))
  const long = fields.filter(
    ({ key, text }) => !RESULTS.has(key) && (text.length > SHORT || text.includes('\n')),
  )
  const short = fields.filter((field) => !results.includes(field) && !long.includes(field))
  const at = {
    key: 'at',
    name: 'Time',
    text: `+${duration(startMs - beginMs)} · ${clockTime(new Date(startMs))}`,
  }
  return html`${fieldList([at, ...short])}
  ${results.map(
    ({ name, text }) =>
      html`<h4>${name}</h4>
        ${foreignText(text, name)}`,
  )}
  ${long.map(({ key, name, text }) => fold(`${id}-${key}`, name, foreignText(text, name)))}`
}

/** The output of the crew is that of the run, which the page has above. */
const isOfRun = ({ type }: RunStep['facts'], key: string): boolean =>
  type === 'crew_completed' && key === 'output'

const fold = (id: string, name: string, body: Html): Html =>
  html`<details class="more" data-fold="${id}">
    <summary>${name}</summary>
    ${body}
  </details>`

const fieldList = (fields: readonly Field[]): Html =>
  factList(
    'pairs',
    fields.map(({ name, text }) => [name, foreignValue(text, name)] as const),
  )

/** The fields of an event; those of an object in it stand beside the others. */
function fieldsOf(event: object): Field[] {
  return Object.entries(event).flatMap(([key, value]: [string, unknown]) => {
    if (value === null || value === undefined) return []
    if (typeof value === 'object' && !Array.isArray(value)) return fieldsOf(value)
    return [{ key, name: sentence(key), text: pretty(value) }]
  })
}
