import type { Context, Hono } from 'hono'
import type { SignedIn, WebDeps } from '../../context.ts'
import { queryOf } from '../frame/lists/pager.ts'
import { readFilter } from './list-filter.ts'
import { readListQuery } from './list-query.ts'
import { readerOf } from './reader-of.ts'
import { readTraceQuery } from './trace-query.ts'
import { getTraceId } from '../../traces/trace-place.ts'
import { createRoom } from '../frame/room.ts'

/** A page of a filter without an index looks at some thousands of traces. */
const PAGES_MAX = 5

/** The list is the latest first: what comes next in it started before. */
const DIRECTIONS = {
  next: { sort: 'newest', notice: 'last-trace' },
  previous: { sort: 'oldest', notice: 'first-trace' },
} as const

/** Leads from a trace to those beside it in the list that led to it, or back where it ends. */
export function traceNeighbourRoutes(deps: WebDeps): Hono<SignedIn> {
  const room = createRoom(deps, {
    'first-trace': 'This is the first trace of the list: there is none before it.',
    'last-trace': 'This is the last trace of the list: there is none after it.',
  })
  for (const direction of ['next', 'previous'] as const) {
    room.page('viewer', `/traces/:traceId/${direction}`, async (c) =>
      c.redirect(await findNeighbour(c, deps, direction), 302),
    )
  }
  return room.routes
}

async function findNeighbour(
  c: Context<SignedIn>,
  deps: WebDeps,
  direction: keyof typeof DIRECTIONS,
): Promise<string> {
  const traceId = getTraceId(c)
  const { list } = readTraceQuery(c)
  const { sort, notice } = DIRECTIONS[direction]
  const query = readListQuery(new URLSearchParams(list))
  const parameters = await readFilter(deps.sql, c.var.session.user.organizationId, query)
  for (const [name, value] of Object.entries({ sort, limit: '1', after: traceId })) {
    parameters.set(name, value)
  }
  const reader = readerOf(c, deps)
  for (let page = 0; page < PAGES_MAX; page++) {
    const { traces, next_cursor: cursor } = await reader.list(parameters)
    const [neighbour] = traces
    if (neighbour) return `/traces/${neighbour.trace_id}${queryOf({ list })}`
    if (cursor === null) break
    parameters.delete('after')
    parameters.set('cursor', cursor)
  }
  return `/traces/${traceId}${queryOf({ list, notice })}`
}
