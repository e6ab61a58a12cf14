import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ListedTrace, SessionPage } from '../../../shared/trace-answers/lists.ts'
import { count, plural } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { ago, emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { dollars } from '../frame/amounts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { traceTabs } from '../frame/trace-tabs.ts'
import { sessionPath } from './session-page.ts'
import { excerpt, tracePill } from './traces-table.ts'

/** A page of the sessions of an organization. */
interface SessionsPage {
  readonly session: Session
  readonly found: SessionPage
  /** The latest trace of each session, by its id. */
  readonly latest: ReadonlyMap<string, ListedTrace>
  /** True for the page that comes first. */
  readonly isFirst: boolean
}

type TraceSession = SessionPage['sessions'][number]

/** Conversations that go over several traces, the latest first. */
export function sessionsPage({ session, found, latest, isFirst }: SessionsPage): Html {
  const { sessions, next_cursor: cursor } = found
  return page(
    { title: 'Sessions', session, current: '/traces' },
    html`<div class="page-head with-views">
        <h1>Sessions</h1>
        ${traceTabs('/sessions')}
      </div>
      <p class="hint list-hint">Traces that belong to one conversation, by its session id.</p>
      <section class="card flush" aria-label="Sessions">
        ${sessions.length > 0 ? table(sessions, latest) : nothing(cursor)}
      </section>
      <nav class="pager" aria-label="Pages">
        <span class="hint">${plural(sessions.length, 'session')} on this page</span>
        ${isFirst ? '' : html`<a class="button" href="/sessions">First page</a>`}
        ${
          cursor === null
            ? ''
            : html`<a class="button" rel="next" href="/sessions${queryOf({ cursor })}"
                ><span>Next</span>${icon('chevron')}</a
              >`
        }
      </nav>`,
  )
}

const nothing = (cursor: string | null): Html =>
  emptyState(
    'link',
    cursor === null ? 'No sessions' : 'No sessions on this page',
    html`A span belongs to a session by <code>gen_ai.conversation.id</code> or
      <code>session.id</code>.`,
  )

const table = (sessions: readonly TraceSession[], latest: SessionsPage['latest']): Html =>
  listTable(
    'Sessions',
    [
      'Session',
      'Last status',
      'Last active',
      ['excerpt', 'Last input'],
      ['excerpt', 'Last output'],
      ['number', 'Traces'],
      ['number', 'Tokens'],
      ['number', 'Cost'],
      'User',
    ],
    sessions.map((each) => row(each, latest.get(each.last_trace_id))),
  )

function row(session: TraceSession, trace: ListedTrace | undefined): Html {
  const { session_id: id, last_time: last, tokens, cost_usd: cost } = session
  const errors = session.error_traces
  return html`<tr>
    <td class="lead">
      <a href="${sessionPath(id)}">${visibleText(id)}</a>
    </td>
    <td class="state">${tracePill(session.last_status)}</td>
    <td data-label="Last active" class="quiet">${ago(new Date(last))}</td>
    <td data-label="Last input" class="excerpt">${excerpt(trace?.input ?? null)}</td>
    <td data-label="Last output" class="excerpt">${excerpt(trace?.output ?? null)}</td>
    <td data-label="Traces" class="number">
      ${count(session.traces)}
      ${errors > 0 ? html`<span class="sub">${count(errors)} failed</span>` : ''}
    </td>
    <td data-label="Tokens" class="number">${count(tokens.input + tokens.output)}</td>
    <td data-label="Cost" class="number">${cost === null ? '–' : dollars(cost)}</td>
    <td data-label="User">${visibleText(session.user_id ?? '–')}</td>
  </tr>`
}
