import type postgres from 'postgres'
import type { Queryable } from './database.ts'

/** The requested part of a list: the first page, or the page on either side of a row. */
export interface PageRequest {
  readonly limit: number
  /** The cursor of the row that the page follows. */
  readonly after?: string | undefined
  /** The cursor of the row that the page precedes; counts only without `after`. */
  readonly before?: string | undefined
  /** Only the rows that contain this text, in any case. */
  readonly search?: string | undefined
}

/**
 * One page of a list. Cursors name rows, so pages neither repeat nor skip rows while others come
 * and go.
 */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** The rows on all pages. */
  readonly total: number
  /** The cursors of the pages on either side; undefined where the list ends. */
  readonly previous?: string | undefined
  readonly next?: string | undefined
}

/** Reads a cursor that is an id; 0, which no row has, for any other text. */
export const idOfCursor = (cursor: string): number =>
  /^\d{1,10}$/.test(cursor) && Number(cursor) < 2 ** 31 ? Number(cursor) : 0

type Fragment = postgres.PendingQuery<postgres.Row[]>

/** The order of a list: one unique column, or several that are unique together. */
interface KeyOrder {
  readonly columns: readonly Fragment[]
  /** The values of the columns in the row that a cursor names. */
  readonly at: (cursor: string) => Fragment
  readonly descending?: boolean
}

const isBackwards = ({ after, before }: PageRequest): boolean =>
  after === undefined && before !== undefined

/**
 * The condition, the order and the limit that read a page. They follow a `where` and a first
 * condition.
 */
export function keyset(sql: Queryable, { columns, at, descending }: KeyOrder, page: PageRequest) {
  const cursor = page.after ?? page.before
  const isDescending = (descending ?? false) !== isBackwards(page)
  const list = (each: (column: Fragment) => Fragment): Fragment =>
    columns.map(each).reduce((all, next) => sql`${all}, ${next}`)
  const key = list((column) => column)
  const order = list((column) => (isDescending ? sql`${column} desc` : column))
  const operator = isDescending ? sql`<` : sql`>`
  const condition = cursor === undefined ? sql`` : sql`and (${key}) ${operator} ${at(cursor)}`
  return sql`${condition} order by ${order} limit ${page.limit + 1}`
}

/**
 * The rows that `keyset` read, one more than the page has when there are others behind them, as a
 * page.
 */
export function toPage<Item>(
  rows: readonly Item[],
  request: PageRequest,
  { total, cursorOf }: { total: number; cursorOf: (item: Item) => string },
): Page<Item> {
  const backwards = isBackwards(request)
  const read = rows.slice(0, request.limit)
  const items = backwards ? read.toReversed() : read
  const isCut = rows.length > request.limit
  const [first] = items
  const last = items.at(-1)
  const hasPrevious = backwards ? isCut : request.after !== undefined
  return {
    items,
    total,
    previous: first && hasPrevious ? cursorOf(first) : undefined,
    next: last && (backwards || isCut) ? cursorOf(last) : undefined,
  }
}

/** The condition that a column contains the text searched for; always true without one. */
export function contains(sql: Queryable, columns: readonly Fragment[], search?: string): Fragment {
  if (!search) return sql`true`
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`
  return columns
    .map((column) => sql`${column} ilike ${pattern}`)
    .reduce((all, next) => sql`${all} or ${next}`)
}
