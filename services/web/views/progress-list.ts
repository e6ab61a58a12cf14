import { html } from 'hono/html'
import type { ProgressEvent } from '../../platform/execution-queue.ts'
import type { Progress } from '../../platform/progress.ts'
import { duration, pretty, sentence } from './format.ts'
import { time } from './parts.ts'
import type { Html } from './parts.ts'

interface Field {
  readonly name: string
  readonly text: string
}

/** What fits into a line; longer texts are folded. */
const SHORT = 80
/** Told by the heading, by the time next to it, or of use to nobody who reads. */
const HIDDEN = new Set([
  'type',
  'at',
  'started_at',
  'ended_at',
  'response_id',
  'server_address',
  'server_port',
])

/** The steps of a run in order. Whatever an event carries is shown: short values in line, long ones folded. */
export function progressList(progress: readonly Progress[]): Html {
  return html`<ol class="timeline">
    ${progress.map(step)}
  </ol>`
}

function step({ attempt, event, recordedAt }: Progress): Html {
  const fields = [...tookOf(event), ...fieldsOf(event)]
  const short = fields.filter(isShort)
  const long = fields.filter((field) => !isShort(field))
  return html`<li class="${toneOf(event)}">
    <div class="timeline-head">
      <strong>${sentence(event.type)}</strong>
      <span class="quiet">${attempt > 1 ? `Attempt ${attempt}, ` : ''}${time(recordedAt)}</span>
    </div>
    ${
      short.length > 0
        ? html`<ul class="chips">
            ${short.map(({ name, text }) => html`<li><span class="quiet">${name}</span> ${text}</li>`)}
          </ul>`
        : ''
    }
    ${long.map(
      ({ name, text }) =>
        html`<details class="more">
          <summary>${name}</summary>
          <div class="prose">${text}</div>
        </details>`,
    )}
  </li>`
}

const isShort = ({ text }: Field): boolean => text.length <= SHORT && !text.includes('\n')

/** The fields of an event; those of an object in it, such as an error, stand beside the others. */
function fieldsOf(event: object): Field[] {
  return Object.entries(event).flatMap(([name, value]: [string, unknown]) => {
    if (HIDDEN.has(name) || value === null || value === undefined) return []
    if (typeof value === 'object' && !Array.isArray(value)) return fieldsOf(value)
    return [{ name: sentence(name), text: pretty(value) }]
  })
}

function tookOf({ started_at: from, ended_at: to }: ProgressEvent): Field[] {
  const ms =
    typeof from === 'string' && typeof to === 'string' ? Date.parse(to) - Date.parse(from) : NaN
  return Number.isFinite(ms) ? [{ name: 'Took', text: duration(ms) }] : []
}

function toneOf({ type, error }: ProgressEvent): string {
  if (error !== undefined || type.includes('fail')) return 'bad'
  return type.endsWith('_completed') ? 'good' : 'busy'
}
