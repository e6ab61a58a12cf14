import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { AppError } from '../../../shared/errors.ts'
import type { ListedTrace, SessionPage } from '../../../shared/trace-answers/lists.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { TraceReader } from '../../traces/trace-reader.ts'
import { createRoom } from '../frame/room.ts'
import { count, plural } from '../frame/format.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { ago, emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { dollars } from '../frame/amounts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { traceTabs } from '../frame/trace-tabs.ts'
import { readerOf } from './reader-of.ts'
import { sessionPage, sessionPath } from './session-page.ts'
import { excerpt, tracePill } from './traces-table.ts'

const ROWS = '50'
/** Traces of a conversation on a page, and characters of each side of one: all that is kept. */
const TURNS = '25'
const EXCERPT = '1024'
const SHORT_EXCERPT = '160'
const CURSOR_MAX = 1000
const ID_MAX = 512

/** Serves the list of sessions, and each as a conversation. */
export function sessionRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps)

  room.page('viewer', '/sessions', async (c) => {
    const cursor = cursorOf(c)
    const reader = readerOf(c, deps)
    const found = await reader.sessions(new URLSearchParams({ limit: ROWS, ...cursor }))
    const isFirst = !('cursor' in cursor)
    const latest = await readLatest(reader, found)
    return c.html(sessionsPage({ session: c.var.session, found, latest, isFirst }))
  })

  room.page('viewer', '/session', async (c) => {
    const id = c.req.query('id') ?? ''
    if (id === '' || id.length > ID_MAX) {
      throw new AppError('not_found', `The id of a session has 1 to ${ID_MAX} characters.`)
    }
    const reader = readerOf(c, deps)
    const cursor = cursorOf(c)
    const page = { session: id, sort: 'oldest', limit: TURNS, excerpts: EXCERPT, ...cursor }
    const [found, totals] = await Promise.all([
      reader.list(new URLSearchParams(page)),
      reader.totals(new URLSearchParams({ session: id })),
    ])
    if (totals.traces === 0) throw new AppError('not_found', NO_SESSION)
    const isFirst = !('cursor' in cursor)
    return c.html(sessionPage({ session: c.var.session, id, found, totals, isFirst }))
  })

  return room.routes
}

/** The latest trace of each session, by its id, with what it was asked and answered. */
async function readLatest(
  reader: TraceReader,
  { sessions }: SessionPage,
): Promise<ReadonlyMap<string, ListedTrace>> {
  if (sessions.length === 0) return new Map()
  const trace = sessions.map(({ last_trace_id: id }) => id).join(',')
  const parameters = new URLSearchParams({ trace, limit: ROWS, excerpts: SHORT_EXCERPT })
  const { traces } = await reader.list(parameters)
  return new Map(traces.map((each) => [each.trace_id, each]))
}

const NO_SESSION = 'Your organization has no such session, or its traces have expired.'

const cursorOf = (c: Context): { readonly cursor?: string } => {
  const cursor = (c.req.query('cursor') ?? '').slice(0, CURSOR_MAX)
  return cursor === '' ? {} : { cursor }
}

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
function sessionsPage({ session, found, latest, isFirst }: SessionsPage): Html {
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
  html`<div class="dense">
    ${listTable(
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
    )}
  </div>`

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
