import type { Context, Hono } from 'hono'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import type { ListedTrace, SessionPage } from '../../../shared/trace-answers/lists.ts'
import type { TraceReader } from '../../traces/trace-reader.ts'
import { readerOf } from './reader-of.ts'
import { sessionPage } from './session-page.ts'
import { sessionsPage } from './sessions-page.ts'
import { createRoom } from '../frame/room.ts'

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
