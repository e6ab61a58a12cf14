import { html } from 'hono/html'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { filterFold, keyList } from '../frame/lists/filter-bar.ts'
import { COLUMNS, FIELD_NAMES, FIELDS, NOTED, STATUSES, TRACE_KEYS, WINDOWS } from './list-query.ts'
import type { Choice, Field, ListQuery, Noted, PlatformRequests, Status } from './list-query.ts'

/** What is wrong with a filter, and with which field of it. */
export interface Problem {
  readonly field: Field | Choice | undefined
  readonly message: string
}

/** The filter of a list, and what it offers. */
interface FilterForm {
  readonly query: ListQuery
  readonly automations: readonly { readonly automationId: string; readonly name: string }[]
  readonly problem: Problem | undefined
}

/** In sight without unfolding, beside the text. */
const FOREMOST: readonly Field[] = ['crew', 'model']

const STATUS_NAMES: Readonly<Record<Status, string>> = {
  ok: 'Ok',
  error: 'Failed',
  running: 'Running',
  incomplete: 'Incomplete',
}

const ANY_STATUS = [
  ['', 'Any'] as const,
  ...STATUSES.map((status) => [status, STATUS_NAMES[status]] as const),
]
const NOTED_NAMES: Readonly<Record<Noted, string>> = {
  good: 'Rated good',
  bad: 'Rated bad',
  any: 'With notes',
}
const ANY_NOTED = [
  ['', 'Any'] as const,
  ...NOTED.map((noted) => [noted, NOTED_NAMES[noted]] as const),
]
const REQUESTS: readonly (readonly [PlatformRequests, string])[] = [
  ['hidden', 'Hidden'],
  ['shown', 'Shown'],
]
const TIMES = Object.entries(WINDOWS).map(([window, { name }]) => [window, name] as const)

/** Returns the state of a trace as pages say it. */
export const traceStatusName = (status: Status): string => STATUS_NAMES[status]

/** The form of the filter: the usual fields, and the others in a fold. */
export function filterForm(form: FilterForm): Html {
  const { query, problem } = form
  return html`<form class="card list-filter trace-filter" action="/traces" role="search">
    <div class="row">
      ${field('text', form)} ${filterFold(isNarrowed(form))}
      ${FOREMOST.map((name) => field(name, form))}
      ${select({
        name: 'status',
        label: 'Status',
        options: ANY_STATUS,
        chosen: query.unknown.status ?? query.status ?? '',
        problem,
      })}
      ${select({
        name: 'window',
        label: 'Time',
        options: TIMES,
        chosen: query.unknown.window ?? query.window,
        problem,
      })}
      <button class="button primary">Show</button>
      <a class="button" href="/traces">Reset</a>
      ${moreFilters(form)}
    </div>
  </form>`
}

const OTHERS = FIELD_NAMES.filter((name) => name !== 'text' && !FOREMOST.includes(name))

/** Whether something beside the text is asked for, or wrong. */
const isNarrowed = (form: FilterForm): boolean =>
  form.query.status !== undefined ||
  form.query.window !== '7d' ||
  FOREMOST.some((name) => name in form.query.fields) ||
  (form.problem?.field ?? 'text') !== 'text' ||
  isUnfolded(form)

/** Whether something is asked for that is seldom asked for. */
function isUnfolded({ query, problem }: FilterForm): boolean {
  const { noted = query.noted ?? '', platform_requests: requests = query.platformRequests } =
    query.unknown
  const isChosen = noted !== '' || requests !== 'hidden'
  return isChosen || OTHERS.some((name) => name in query.fields || problem?.field === name)
}

/** The fold of what is seldom asked for, open when something of it is. */
function moreFilters(form: FilterForm): Html {
  const { query, problem } = form
  const { noted = query.noted ?? '', platform_requests: requests = query.platformRequests } =
    query.unknown
  return html`<details class="more" ${isUnfolded(form) ? 'open' : ''}>
    <summary>More filters</summary>
    <div class="fields">
      ${select({
        name: 'noted',
        label: 'Notes',
        options: ANY_NOTED,
        chosen: noted,
        problem,
      })}
      ${select({
        name: 'platform_requests',
        label: 'Platform requests',
        options: REQUESTS,
        chosen: requests,
        problem,
      })}
      ${OTHERS.map((name) => field(name, form))}
    </div>
    <fieldset class="choices">
      <legend>Columns</legend>
      ${Object.entries(COLUMNS).map(
        ([column, name]) =>
          html`<label class="check"
            ><input
              type="checkbox"
              name="column"
              value="${column}"
              ${query.columns.some((each) => each === column) ? 'checked' : ''}
            />${name}</label
          >`,
      )}
    </fieldset>
  </details>`
}

function field(name: Field, { query, automations, problem }: FilterForm): Html {
  const value = query.fields[name] ?? ''
  if (name === 'crew') {
    const options = automations.map(
      ({ automationId, name: shown }) => [automationId, shown] as const,
    )
    return select({
      name,
      label: FIELDS.crew,
      options: [['', 'Any'], ...options],
      chosen: value,
      problem,
    })
  }
  return html`<div class="${name === 'text' ? 'grow' : ''}">
    <label for="filter-${name}">${FIELDS[name]}</label>
    <input
      id="filter-${name}"
      name="${name}"
      value="${value}"
      placeholder="${name === 'text' ? 'Text, or model:gpt*' : FIELDS[name]}"
      maxlength="600"
      autocomplete="off"
      ${name === 'text' ? html`list="query-keys"` : ''}
      ${wrongMark(name, problem)}
    />
    ${name === 'text' ? keyList(TRACE_KEYS) : ''} ${wrongNote(name, problem)}
  </div>`
}

const wrongMark = (name: string, problem: Problem | undefined): Html | string =>
  problem?.field === name ? html`aria-invalid="true" aria-describedby="${name}-problem"` : ''

const wrongNote = (name: string, problem: Problem | undefined): Html | string =>
  problem?.field === name
    ? html`<p class="field-problem" id="${name}-problem" role="alert">
        ${visibleText(problem.message)}
      </p>`
    : ''

interface Select {
  readonly name: string
  readonly label: string
  readonly options: readonly (readonly [value: string, name: string])[]
  readonly chosen: string
  readonly problem: Problem | undefined
}

/** What was chosen and is not offered, such as an automation that is gone, is shown as it is. */
function select({ name, label, options, chosen, problem }: Select): Html {
  const isOffered = options.some(([value]) => value === chosen)
  const all = isOffered ? options : [...options, [chosen, visibleText(chosen)] as const]
  return html`<div>
    <label for="filter-${name}">${label}</label>
    <select id="filter-${name}" name="${name}" ${wrongMark(name, problem)}>
      ${all.map(
        ([value, text]) =>
          html`<option value="${value}" ${value === chosen ? 'selected' : ''}>
            ${value === '' ? `${label}: ${text.toLowerCase()}` : text}
          </option>`,
      )}
    </select>
    ${wrongNote(name, problem)}
  </div>`
}
