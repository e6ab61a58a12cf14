import { Hono } from 'hono'
import type { Context } from 'hono'
import {
  deleteRunFilter,
  findRunFilter,
  RUN_FILTER_NAME_MAX,
  RUN_FILTER_QUERY_MAX,
  RUN_FILTERS_MAX,
  saveRunFilter,
} from '../../../platform/runs/run-filters.ts'
import type { RunFilterEntry } from '../../../platform/runs/run-filters.ts'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { queryTextOf } from './list-query.ts'
import { filtersPath } from './saved-filters.ts'
import { createRoom } from '../frame/room.ts'

const NAME = /^(?!\s)[^\p{Cc}]+(?<!\s)$/u

/** Keeps and deletes filters of the list of runs: for one person, or for all members. */
export function runFilterRoutes(deps: WebDeps): Hono<SignedIn> {
  const routes = new Hono<SignedIn>()
  for (const isShared of [false, true]) routes.route('/', filterRoutes(deps, isShared))
  return routes
}

function filterRoutes(deps: WebDeps, isShared: boolean): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps)
  const right = isShared ? 'editor' : 'viewer'
  const path = filtersPath(isShared)
  const one = `${path}/:filterId/delete`
  const find = (c: Context<SignedIn>) => getFilter(c, deps, isShared)

  room.form(right, path, async (c) => {
    const filter = { ...readFilter(c.var.form), isShared }
    const save = async (tx: Transaction): Promise<number> => {
      const id = await saveRunFilter(tx, c.var.session.user, filter)
      if (id === undefined) throw tooMany()
      return id
    }
    await audited(c.var, save, (id) =>
      isShared ? entryOf('run_filter_shared', { ...filter, id }) : undefined,
    )
    return c.redirect(`/executions?${withNotice(filter.query, 'run-filter-saved')}`, 303)
  })

  room.form(right, one, async (c) => {
    const filter = await find(c)
    await audited(
      c.var,
      (tx) => deleteRunFilter(tx, c.var.session.user, filter),
      (isDone) => (isDone && isShared ? entryOf('run_filter_deleted', filter) : undefined),
    )
    const undo = new URLSearchParams({ undo: filter.name, ...(isShared && { shared: 'yes' }) })
    return c.redirect(
      `/executions?${withNotice(filter.query, 'filter-deleted')}&${undo.toString()}`,
      303,
    )
  })

  return room.routes
}

const entryOf = (action: string, { id, name, query }: RunFilterEntry): AuditEntry => ({
  action,
  target: { kind: 'run_filter', id, name },
  after: { query },
})

const withNotice = (query: string, notice: string): string =>
  query === '' ? `notice=${notice}` : `${query}&notice=${notice}`

/** Only what the list understands is kept of an address. */
function readFilter(form: URLSearchParams): Pick<RunFilterEntry, 'name' | 'query'> {
  const name = (form.get('name') ?? '').trim()
  if (!NAME.test(name) || name.length > RUN_FILTER_NAME_MAX) {
    throw new AppError(
      'unprocessable',
      `The name of a filter has 1 to ${RUN_FILTER_NAME_MAX} characters, and no control ` +
        `characters (given: ${name.length}). Go back and enter one.`,
    )
  }
  const query = queryTextOf(new URLSearchParams(form.get('query') ?? ''))
  if (Buffer.byteLength(query) <= RUN_FILTER_QUERY_MAX) return { name, query }
  throw new AppError('unprocessable', 'This filter is too long to keep. Shorten its texts.')
}

async function getFilter(
  c: Context<SignedIn>,
  { sql }: WebDeps,
  isShared: boolean,
): Promise<RunFilterEntry> {
  const text = c.req.param('filterId') ?? ''
  const key = { id: isIdCursor(text) ? Number(text) : 0, isShared }
  const found = await findRunFilter(sql, c.var.session.user, key)
  if (found) return found
  throw new AppError('not_found', 'There is no such filter, or it is deleted already.')
}

const tooMany = (): AppError =>
  new AppError(
    'conflict',
    `There are ${RUN_FILTERS_MAX} filters already. Delete one, or use the name of one.`,
  )
