import { html } from 'hono/html'
import type { ProgressEvent } from '../../../platform/run-queue.ts'
import type { Progress } from '../../../platform/progress.ts'
import { clockTime, duration, pretty, sentence } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'
import { renderText } from '../frame/text/text-view.ts'

interface Field {
  readonly key: string
  readonly name: string
  readonly text: string
}

/** The start of a run, and the time that it has taken. */
export interface Span {
  readonly startedAt: Date
  readonly ms: number
}

/** The longest text, in characters, that stands in a line; longer ones are folded. */
const SHORT = 80
/** The longest document, in characters, that is rendered in a fold. */
const RENDERED_LENGTH_MAX = 20_000
/** Shown by the heading or by the time next to it, or of no use to a reader. */
const HIDDEN = new Set([
  'type',
  'at',
  'started_at',
  'ended_at',
  'response_id',
  'call_id',
  'server_address',
  'server_port',
])
/** The fields that most people look for in a step; the rest is folded. */
const FOREMOST = new Set([
  'task',
  'agent',
  'request_model',
  'name',
  'input_tokens',
  'output_tokens',
  'code',
  'message',
])
const FOREMOST_MAX = 6

/**
 * The steps of a run in order. Every field of an event is shown: the most important in line, the
 * others folded.
 */
export const progressList = (progress: readonly Progress[], span: Span | undefined): Html =>
  html`<ol class="timeline" data-part="steps">
    ${progress.map((each) => step(each, span))}
  </ol>`

function step({ attempt, position, event, recordedAt }: Progress, span: Span | undefined): Html {
  const id = `step-${attempt}-${position}`
  const at = beginOf(event) ?? recordedAt
  const fields = fieldsOf(event)
  const long = fields.filter((field) => !isShort(field))
  const short = fields.filter(isShort)
  const isKnown = short.some(({ key }) => FOREMOST.has(key))
  const foremost = short.filter(({ key }) => !isKnown || FOREMOST.has(key)).slice(0, FOREMOST_MAX)
  const rest = short.filter((field) => !foremost.includes(field))
  return html`<li class="${toneOf(event)}" id="${id}">
    <div class="timeline-head">
      <strong>${sentence(event.type)}</strong>
      ${moment(at, span)}
    </div>
    ${durationBar(event, span)}
    ${
      foremost.length > 0 || attempt > 1
        ? html`<ul class="chips">
            ${attempt > 1 ? html`<li><span class="quiet">Attempt</span> ${attempt}</li>` : ''}
            ${foremost.map(chip)}
          </ul>`
        : ''
    }
    ${long.map((field) => fold(`${id}-${field.key}`, field.name, bodyOf(field)))}
    ${rest.length > 0 ? fold(`${id}-more`, 'Details', facts(rest)) : ''}
  </li>`
}

const chip = ({ name, text }: Field): Html =>
  html`<li><span class="quiet">${name}</span> ${text}</li>`

const isShort = ({ text }: Field): boolean => text.length <= SHORT && !text.includes('\n')

const fold = (id: string, name: string, body: Html): Html =>
  html`<details class="more" data-fold="${id}">
    <summary>${name}</summary>
    ${body}
  </details>`

const bodyOf = ({ key, text }: Field): Html =>
  key === 'output' && text.length <= RENDERED_LENGTH_MAX
    ? html`<div class="output" tabindex="0" role="group" aria-label="Output">
        ${renderText(text)}
      </div>`
    : html`<div class="output prose" tabindex="0" role="group" aria-label="Text">${text}</div>`

const facts = (fields: readonly Field[]): Html =>
  html`<dl class="pairs">
    ${fields.map(
      ({ name, text }) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${text}</dd>
        </div>`,
    )}
  </dl>`

/** The fields of an event; those of an object in it, such as an error, stand beside the others. */
function fieldsOf(event: object): Field[] {
  return Object.entries(event).flatMap(([key, value]: [string, unknown]) => {
    if (HIDDEN.has(key) || value === null || value === undefined) return []
    if (typeof value === 'object' && !Array.isArray(value)) return fieldsOf(value)
    return [{ key, name: sentence(key), text: pretty(value) }]
  })
}

/** The time from the start of the run, and the time of day. */
function moment(at: Date, span: Span | undefined): Html {
  const offset =
    span === undefined ? '' : `+${duration(at.getTime() - span.startedAt.getTime())} · `
  return html`<time class="quiet" datetime="${at.toISOString()}">${offset}${clockTime(at)}</time>`
}

const dateOf = (value: unknown): Date | undefined =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? new Date(value) : undefined

const beginOf = ({ started_at, at }: ProgressEvent): Date | undefined =>
  dateOf(started_at) ?? dateOf(at)

/** The part of the run that a step took, as a bar and in words. */
function durationBar(event: ProgressEvent, span: Span | undefined): Html | string {
  const from = dateOf(event.started_at)
  const to = dateOf(event.ended_at)
  if (!from || !to) return ''
  const ms = Math.max(0, to.getTime() - from.getTime())
  const words = html`<span class="quiet">took ${duration(ms)}</span>`
  if (span === undefined) return html`<div class="took">${words}</div>`
  const percent = (each: number): number =>
    Math.min(100, Math.max(0, (each / (span.ms || 1)) * 100))
  const x = Math.min(99, percent(from.getTime() - span.startedAt.getTime()))
  const width = Math.max(1, Math.min(percent(ms), 100 - x))
  return html`<div class="took">
    <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <rect class="track" width="100" height="6" />
      <rect class="bar" x="${x.toFixed(1)}" width="${width.toFixed(1)}" height="6" />
    </svg>
    ${words}
  </div>`
}

function toneOf({ type, error }: ProgressEvent): string {
  if (error !== undefined || type.includes('fail')) return 'bad'
  return type.endsWith('_completed') ? 'good' : 'busy'
}
