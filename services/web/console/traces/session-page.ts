import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedTrace, TracePage, TraceTotals } from '../../../shared/trace-answers/lists.ts'
import { dollars } from '../frame/amounts.ts'
import { absoluteTime, count, duration, plural } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { factList } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { foreignText } from '../frame/text/foreign-text.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { nameOf, tracePill } from './traces-table.ts'

/** The conversation of a session, or a page of it. */
interface SessionView {
  readonly session: Session
  readonly id: string
  /** The earliest first. */
  readonly found: TracePage
  readonly totals: TraceTotals
  /** True for the page that comes first. */
  readonly isFirst: boolean
}

/** The address of a session, whose id is any text. */
export const sessionPath = (id: string): string => `/session${queryOf({ id })}`

/** A session as a conversation: what each of its traces was asked and what it answered. */
export function sessionPage({ session, id, found, totals, isFirst }: SessionView): Html {
  const name = visibleText(id)
  const { traces, next_cursor: cursor } = found
  return page(
    { title: name, session, current: '/traces' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/traces">Traces</a><a href="/sessions">Sessions</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>${name}</h1>
          <p class="hint">What each trace of this session was asked, and what it answered.</p>
        </div>
        <a class="button push" href="/traces${queryOf({ session: id, window: 'all' })}"
          >List of traces</a
        >
      </div>
      ${sums(totals)}
      <ol class="turns">
        ${traces.map((trace) => turn(trace, id))}
      </ol>
      <nav class="pager" aria-label="Pages">
        <span class="hint">${plural(traces.length, 'trace')} on this page</span>
        ${isFirst ? '' : html`<a class="button" href="${sessionPath(id)}">First page</a>`}
        ${
          cursor === null
            ? ''
            : html`<a class="button" rel="next" href="/session${queryOf({ id, cursor })}"
                ><span>Next</span>${icon('chevron')}</a
              >`
        }
      </nav>`,
  )
}

const sums = ({ traces, error, tokens, cost_usd: cost, duration_ms: { p50 } }: TraceTotals): Html =>
  factList('statistics', [
    [
      'Traces',
      html`${count(traces)} ${error > 0 ? html`<small>${count(error)} failed</small>` : ''}`,
    ],
    ['Median duration', p50 === null ? '–' : duration(p50)],
    ['Tokens', count(tokens.input + tokens.output)],
    ['Cost', cost === null ? '–' : dollars(cost)],
  ])

function turn(trace: ListedTrace, session: string): Html {
  const list = new URLSearchParams({ window: 'all', session }).toString()
  const { trace_id: id, status, started_at: start, duration_ms: ms, input, output } = trace
  return html`<li class="card turn">
    <div class="card-head">
      <h2><a href="/traces/${id}${queryOf({ list })}">${nameOf(trace)}</a></h2>
      ${tracePill(status)}
      <span class="push quiet">
        ${absoluteTime(new Date(start))}${ms === null ? '' : ` · ${duration(ms)}`}
      </span>
    </div>
    ${said('user', 'Asked', input)} ${said('assistant', 'Answered', output)}
    ${
      !input && !output
        ? html`<p class="hint">
            Its messages are not kept for lists, or not read yet; the trace has them.
          </p>`
        : ''
    }
  </li>`
}

const said = (
  role: 'user' | 'assistant',
  name: string,
  text: string | null | undefined,
): Html | string =>
  !text
    ? ''
    : html`<article class="message ${role}">
        <h3>${name}</h3>
        ${foreignText(text, name)}
      </article>`
