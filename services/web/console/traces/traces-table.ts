import { html } from 'hono/html'
import type { TraceOpinions } from '../../../platform/traces/trace-notes.ts'
import type { ListedTrace } from '../../../shared/trace-answers/lists.ts'
import { count, duration, shortId } from '../frame/format.ts'
import { kindChip } from '../frame/kinds.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { ago, listTable, pill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'
import { dollars } from '../frame/amounts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { traceStatusName } from './filter-form.ts'
import { opinionText } from './trace-notes.ts'
import { carriedList, COLUMNS } from './list-query.ts'
import type { Column, ListQuery, Status } from './list-query.ts'

const TONES: Readonly<Record<Status, Tone>> = {
  ok: 'good',
  error: 'bad',
  running: 'busy',
  incomplete: 'waiting',
}

/** The state of a trace, in its colour. */
export const tracePill = (status: Status): Html => pill(TONES[status], traceStatusName(status))

/** The state of a trace whose run waits for a person, or for a budget. */
export const waitingPill = (): Html => pill('waiting', 'Waiting')

/** The classes of columns; the others have none. */
const CLASSES: Readonly<Partial<Record<Column, string>>> = {
  input: 'excerpt',
  output: 'excerpt',
  duration: 'number terse',
  tokens: 'number',
  cost: 'number terse',
  spans: 'number',
}
/** The id of the form that compares the traces which are chosen in the table. */
export const COMPARE_FORM = 'compare'
/** Names that a row shows of several. */
const NAMES_MAX = 2

/** What is known of traces beside what they say. */
interface KnownOfTraces {
  readonly query: ListQuery
  readonly opinions: ReadonlyMap<string, TraceOpinions>
  /** The ids of those whose runs wait. */
  readonly waiting: ReadonlySet<string>
}

/** Traces in the order given, with the columns that were chosen. */
export function tracesTable(
  traces: readonly ListedTrace[],
  { query, opinions, waiting }: KnownOfTraces,
): Html {
  const { columns } = query
  const back = queryOf({ list: carriedList(query) })
  return html`<div class="dense">
    ${listTable(
      'Traces',
      [
        'Trace',
        'Status',
        'Start',
        ...columns.map((each) => [CLASSES[each] ?? '', COLUMNS[each]] as const),
      ],
      traces.map((trace) => {
        const { trace_id: id } = trace
        return row(trace, { columns, back, opinion: opinions.get(id), isWaiting: waiting.has(id) })
      }),
    )}
  </div>`
}

interface Row {
  readonly columns: readonly Column[]
  /** The query of the address that leads back here. */
  readonly back: string
  readonly opinion: TraceOpinions | undefined
  readonly isWaiting: boolean
}

const row = (trace: ListedTrace, { columns, back, opinion, isWaiting }: Row): Html =>
  html`<tr data-trace-id="${trace.trace_id}">
    <td class="lead">
      <span class="pick"
        ><input
          type="checkbox"
          class="choose"
          form="${COMPARE_FORM}"
          name="trace"
          value="${trace.trace_id}"
          aria-label="Compare ${nameOf(trace)} ${shortId(trace.trace_id)}"
        />
        ${traceChip(trace)}
        <a href="/traces/${trace.trace_id}${back}" title="${nameOf(trace)}"
          >${nameOf(trace)}</a
        ></span
      >
      <span class="sub"
        ><span class="mono">${shortId(trace.trace_id)}</span>${
          opinion ? ` · ${opinionText(opinion)}` : ''
        }</span
      >
    </td>
    <td class="state">${isWaiting ? waitingPill() : tracePill(trace.status)}</td>
    <td data-label="Start" class="quiet">${ago(new Date(trace.started_at))}</td>
    ${columns.map(
      (column) =>
        html`<td data-label="${COLUMNS[column]}" class="${CLASSES[column] ?? ''}">
          ${TEXTS[column](trace)}
        </td>`,
    )}
  </tr>`

/** What a trace is of, by what is in it. */
function traceChip({ kickoff_id: run, agents, llm_calls: calls }: ListedTrace): Html {
  if (run !== null) return kindChip('task', 'Run')
  if (agents.length > 0) return kindChip('agent', 'Agent')
  return calls > 0 ? kindChip('llm', 'Model') : kindChip('span', 'Other')
}

/** The name of a trace, with nothing hidden in it. */
export const nameOf = ({ name }: Pick<ListedTrace, 'name'>): string =>
  visibleText(name) || '(no name)'

/** Some lines of a text, whatever breaks are in it. */
export const excerpt = (text: string | null | undefined): Html | string =>
  text == null ? '–' : html`<span>${visibleText(text.replace(/\s+/g, ' '))}</span>`

const TEXTS: Readonly<Record<Column, (trace: ListedTrace) => Html | string>> = {
  input: ({ input }) => excerpt(input),
  output: ({ output }) => excerpt(output),
  duration: ({ duration_ms: ms }) => (ms === null ? '–' : duration(ms)),
  tokens: ({ tokens: { input, output } }) => count(input + output),
  cost: ({ cost_usd: cost }) => (cost === null ? '–' : dollars(cost)),
  models: ({ models }) => names(models),
  agents: ({ agents }) => names(agents),
  spans: ({ spans }) => count(spans),
  service: ({ service }) => visibleText(service ?? '–'),
  session: ({ session_id: id }) => visibleText(id ?? '–'),
  user: ({ user_id: id }) => visibleText(id ?? '–'),
}

function names(all: readonly string[]): string {
  if (all.length === 0) return '–'
  const shown = visibleText(all.slice(0, NAMES_MAX).join(', '))
  return all.length > NAMES_MAX ? `${shown} and ${all.length - NAMES_MAX} more` : shown
}
