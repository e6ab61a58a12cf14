import { html } from 'hono/html'
import type {
  Measure,
  MeasureFound,
  Standing,
} from '../../../platform/projects/release-standing.ts'
import type { Rollback, SharedVersion } from '../../../platform/projects/releases.ts'
import { DEFAULT_ROLLBACK } from '../../../platform/projects/rollback-rules.ts'
import type { RollbackRule } from '../../../platform/projects/rollback-rules.ts'
import { AppError } from '../../../shared/errors.ts'
import { runPath } from '../frame/addresses.ts'
import { dollars } from '../frame/amounts.ts'
import { count, shortId } from '../frame/format.ts'
import { listTable, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { tick } from './editor/fields.ts'

const LABELS: Readonly<Record<Measure, string>> = {
  failures: 'Failed runs',
  cost: 'Cost of a typical run',
  ratings: 'Rated as bad',
  scores: 'Checks fail',
}

const MARGINS = [
  ['failure_points', 'failurePoints', 'More failed runs, in points of percent', 100],
  ['cost_percent', 'costPercent', 'More cost of a typical run, in percent', 300],
  ['rating_points', 'ratingPoints', 'More runs rated as bad, in points of percent', 100],
  ['score_points', 'scorePoints', 'More scored runs whose checks fail, in points of percent', 100],
] as const

/** The fields that say when a share is taken back without a person. */
export function rollbackFields(shared: SharedVersion | null): Html {
  const rule = shared?.rollback ?? DEFAULT_ROLLBACK
  const isOn = shared === null || shared.rollback !== null
  return html`<fieldset class="stack">
    <legend>Take the share back when it is worse</legend>
    <input type="hidden" name="rollback" value="asked" />
    ${tick('takes_back', 'Without a person, by a test of its runs', isOn)}
    ${MARGINS.map(
      ([name, key, label, max]) =>
        html`<label
          >${label}
          <input type="number" name="${name}" min="0" max="${max}" value="${rule[key] ?? ''}" />
        </label>`,
    )}
    <label
      >Of 100 that are not worse, taken back at the most
      <input
        type="number"
        name="error_percent"
        min="1"
        max="20"
        required
        value="${rule.errorPercent}"
      />
    </label>
    <label
      >Mail to
      <input name="mail" value="${rule.mail.join(' ')}" placeholder="ada@example.com" />
      <span class="hint"
        >Addresses of members. Webhooks that are sent release_rolled_back need no entry. A margin
        that is left empty is not compared.</span
      >
    </label>
  </fieldset>`
}

/** Reads those fields; undefined for a form without them. Raises `unprocessable`. */
export function readRollback(form: URLSearchParams): RollbackRule | null | undefined {
  const textOf = (name: string): string => (form.get(name) ?? '').trim()
  if (textOf('rollback') === '') return undefined
  if (textOf('takes_back') === '') return null
  const whole = (name: string, [least, most]: readonly [number, number]): number => {
    const number = /^\d{1,3}$/.test(textOf(name)) ? Number(textOf(name)) : -1
    if (number >= least && number <= most) return number
    const given = JSON.stringify(textOf(name).slice(0, 20))
    throw new AppError(
      'unprocessable',
      `${name} is ${given}; it has to be a whole number from ${least} to ${most}.`,
    )
  }
  const margins = MARGINS.map(([name, , , most]) =>
    textOf(name) === '' ? null : whole(name, [0, most]),
  )
  const [failurePoints = null, costPercent = null, ratingPoints = null] = margins
  const scorePoints = margins[3] ?? null
  const mail = textOf('mail')
    .split(/[\s,;]+/)
    .filter(Boolean)
  const errorPercent = whole('error_percent', [1, 20])
  return { failurePoints, costPercent, ratingPoints, scorePoints, errorPercent, mail }
}

/** The state of the test of a version that has a share. */
export function rollbackTestSection(shared: SharedVersion, running: number | null): Html | string {
  const { rollback, standing, number } = shared
  if (rollback === null || running === null) return ''
  return html`<section class="card flush" aria-labelledby="test">
    <div class="card-head">
      <h2 id="test">Test against version ${running}</h2>
      <span class="hint">errs in ${rollback.errorPercent} of 100 at the most</span>
    </div>
    ${
      standing === null
        ? html`<p class="hint">No run of it has been looked at yet.</p>`
        : html`${standingTable(standing, { number, running })}
            <p class="hint">
              ${count(standing.runs.new)} runs of version ${number} and
              ${count(standing.runs.running)} of version ${running} were seen. The share is taken
              back once a difference is certain to be above what is allowed, by its lower end.
            </p>`
    }
  </section>`
}

interface Sides {
  readonly number: number
  readonly running: number
}

const standingTable = ({ measures }: Standing, { number, running }: Sides): Html =>
  listTable(
    'Differences',
    [
      'Measure',
      ['number', `Version ${number}`],
      ['number', `Version ${running}`],
      ['number', 'Worse by'],
      ['number', 'Allowed'],
    ],
    measures.map(
      (found) =>
        html`<tr>
          <td class="lead">${LABELS[found.measure]}</td>
          <td data-label="Version ${number}" class="number">${sideText(found, 'new')}</td>
          <td data-label="Version ${running}" class="number">${sideText(found, 'running')}</td>
          <td data-label="Worse by" class="number">${rangeText(found)}</td>
          <td data-label="Allowed" class="number">${unitText(found, found.margin)}</td>
        </tr>`,
    ),
  )

function sideText({ measure, of }: MeasureFound, side: 'new' | 'running'): string {
  const { value, runs } = of[side]
  if (value === null) return '–'
  const text = measure === 'cost' ? dollars(value) : `${value.toFixed(1)} %`
  return `${text} of ${count(runs)}`
}

const unitText = ({ measure }: MeasureFound, value: number): string =>
  `${Number(value.toFixed(1))} ${measure === 'cost' ? '%' : 'points'}`

const rangeText = (found: MeasureFound): string =>
  `${Number(found.low.toFixed(1))} to ${unitText(found, found.high)}`

/** Why the last version was taken back, with its worst runs. */
export function rolledBackSection({ number, running, at, text, standing, runs }: Rollback): Html {
  return html`<section class="card flush" aria-labelledby="taken-back">
    <div class="card-head">
      <h2 id="taken-back">Taken back</h2>
      <span class="hint">${time(at)}</span>
    </div>
    <p class="hint">${text}</p>
    ${standingTable(standing, { number, running })}
    ${
      runs.length === 0
        ? ''
        : html`<p class="hint">
            The worst runs:
            ${runs.map(
              ({ kickoff_id: id, automation_id: automationId }) =>
                html`<a href="${runPath({ automationId }, { id })}"
                  ><code>${shortId(id)}</code></a
                > `,
            )}
          </p>`
    }
  </section>`
}
