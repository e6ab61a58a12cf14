import type { Context, Hono } from 'hono'
import {
  deleteTraceFilter,
  findTraceFilter,
  saveTraceFilter,
  TRACE_FILTER_NAME_MAX,
  TRACE_FILTERS_MAX,
} from '../../../platform/traces/trace-filters.ts'
import type { TraceFilter } from '../../../platform/traces/trace-filters.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { listAddress, readListQuery } from './list-query.ts'
import { createRoom } from '../frame/room.ts'

/** Bytes that the database takes; what is in an address is ASCII. */
const QUERY_MAX = 8192
const ID_MAX = 2_147_483_647

/** Keeps and deletes the filters of a person. */
export function traceFilterRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql, config } = deps
  const room = createRoom(deps)
  const path = '/trace-filters'

  room.form('viewer', path, async (c) => {
    const query = readListQuery(new URLSearchParams(c.var.form.get('query') ?? ''))
    const name = readName(c.var.form.get('name'))
    const address = listAddress(query)
    const filter = { name, query: new URL(address, config.PLATFORM_BASE_URL).search.slice(1) }
    if (filter.query.length > QUERY_MAX) throw tooLong(filter.query.length)
    if (!(await saveTraceFilter(sql, c.var.session.user, filter))) throw tooMany()
    return c.redirect(`${address}&notice=filter-saved`, 303)
  })

  room.form('viewer', `${path}/:id/delete`, async (c) => {
    const filter = await getFilter(c, deps)
    await deleteTraceFilter(sql, c.var.session.user, filter.id)
    const undo = encodeURIComponent(filter.name)
    return c.redirect(`/traces?${filter.query}&notice=filter-deleted&undo=${undo}`, 303)
  })

  return room.routes
}

function readName(given: string | null): string {
  const name = (given ?? '').replace(/\s+/g, ' ').trim()
  if (name !== '' && name.length <= TRACE_FILTER_NAME_MAX && !name.includes('\0')) return name
  throw new AppError(
    'invalid_request',
    `The name of a filter must have 1 to ${TRACE_FILTER_NAME_MAX} characters (given: ` +
      `${name.length}). Go back and enter one.`,
  )
}

async function getFilter(c: Context<SignedIn>, { sql }: WebDeps): Promise<TraceFilter> {
  const id = c.req.param('id') ?? ''
  const isId = /^\d{1,10}$/.test(id) && Number(id) <= ID_MAX
  const found = isId && (await findTraceFilter(sql, c.var.session.user, Number(id)))
  if (found) return found
  throw new AppError('not_found', 'You have no such filter, or it is deleted already.')
}

const tooLong = (bytes: number): AppError =>
  new AppError(
    'invalid_request',
    `This filter is too long to keep: ${bytes} bytes, of ${QUERY_MAX}. Shorten its texts.`,
  )

const tooMany = (): AppError =>
  new AppError(
    'conflict',
    `You have ${TRACE_FILTERS_MAX} filters already. Delete one, or use the name of one.`,
  )
