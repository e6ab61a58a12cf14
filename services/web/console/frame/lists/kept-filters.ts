import { html } from 'hono/html'
import type { AuditEntry } from '../../../../platform/audit/audit.ts'
import type { User } from '../../../../platform/people/users.ts'
import { AppError } from '../../../../shared/errors.ts'
import type { Queryable } from '../../../../shared/postgres/database.ts'
import type { WebDeps } from '../../../context.ts'
import { csrfField } from '../parts.ts'
import type { Html } from '../parts.ts'
import type { PeopleRight, Room } from '../room.ts'
import { isIdCursor } from './page-request.ts'

/** The part of an address that a list is filtered with, under a name. */
interface KeptFilter {
  readonly id: number
  readonly name: string
  readonly query: string
}

/** The filters of a list: those of one person, or those that all members share. */
export interface FilterShelf {
  readonly right: PeopleRight
  /** Where they are sent to: `/run-filters`. */
  readonly path: string
  /** The page of the list. */
  readonly list: string
  /** What the address of the list has beside a filter that was deleted, to keep it again. */
  readonly undo?: Readonly<Record<string, string>>
  /** The notice of one that was saved. */
  readonly saved: 'filter-saved' | 'filter-shared'
  readonly most: number
  /** The longest name, in characters, and the longest query, in bytes. */
  readonly nameMax: number
  readonly queryMax: number
  /** Returns what the list understands of a query. */
  readonly tidy: (query: URLSearchParams) => string
  readonly find: (sql: Queryable, owner: User, id: number) => Promise<KeptFilter | undefined>
  /** Returns the id; undefined when there are as many as there may be. */
  readonly save: (
    sql: Queryable,
    owner: User,
    filter: Omit<KeptFilter, 'id'>,
  ) => Promise<number | undefined>
  /** Returns false when there is no such one any more. */
  readonly remove: (sql: Queryable, owner: User, id: number) => Promise<boolean>
  /** What the audit records; what one person keeps is the matter of no other. */
  readonly entry?: (past: 'saved' | 'deleted', filter: KeptFilter) => AuditEntry
}

/** What the page of a list says of its filters. */
export const FILTER_NOTICES = {
  'filter-saved': 'The filter is saved. Only you see it.',
  'filter-shared': 'The filter is saved. All members see it.',
  'filter-deleted': 'The filter is deleted.',
}

const NAME = /^[^\p{Cc}]+$/u

/** Adds what keeps and deletes filters to the room of the list that they are of. */
export function addFilterActions(room: Room, { sql }: Pick<WebDeps, 'sql'>, shelf: FilterShelf) {
  const { right, path, list, undo, saved, entry } = shelf
  const addressOf = (query: string): string => (query === '' ? list : `${list}?${query}`)

  room.action(right, path, {
    find: async (c) => ({ owner: c.var.session.user, filter: readFilter(c.var.form, shelf) }),
    async change(tx, { owner, filter }) {
      const id = await shelf.save(tx, owner, filter)
      if (id !== undefined) return id
      throw new AppError(
        'conflict',
        `There are ${shelf.most} filters already. Delete one, or use the name of one.`,
      )
    },
    entry: ({ filter }, id) => entry?.('saved', { ...filter, id }),
    done: ({ filter }) => [addressOf(filter.query), saved],
  })

  room.action(right, `${path}/:filterId/delete`, {
    async find(c) {
      const owner = c.var.session.user
      const id = c.req.param('filterId') ?? ''
      const filter = isIdCursor(id) ? await shelf.find(sql, owner, Number(id)) : undefined
      if (filter) return { owner, filter }
      throw new AppError('not_found', 'There is no such filter, or it is deleted already.')
    },
    change: (tx, { owner, filter }) => shelf.remove(tx, owner, filter.id),
    entry: ({ filter }, isDone) => (isDone ? entry?.('deleted', filter) : undefined),
    done({ filter: { name, query } }) {
      const parameters = new URLSearchParams({ undo: name, ...undo }).toString()
      return [addressOf(query === '' ? parameters : `${query}&${parameters}`), 'filter-deleted']
    },
  })
}

/** Only what the list understands is kept of an address. */
function readFilter(form: URLSearchParams, { nameMax, queryMax, tidy }: FilterShelf) {
  const name = (form.get('name') ?? '').trim()
  if (!NAME.test(name) || name.length > nameMax) {
    throw new AppError(
      'unprocessable',
      `The name of a filter has 1 to ${nameMax} characters, and no control characters (given: ` +
        `${name.length}). Go back and enter one.`,
    )
  }
  const query = tidy(new URLSearchParams(form.get('query') ?? ''))
  const bytes = Buffer.byteLength(query)
  if (bytes <= queryMax) return { name, query }
  throw new AppError(
    'unprocessable',
    `This filter is too long to keep: ${bytes} bytes, of ${queryMax}. Shorten its texts.`,
  )
}

/** The filters that a person may delete, with a button for each. */
export const deletableFilters = <Filter extends KeptFilter>(
  csrfToken: string,
  filters: readonly Filter[],
  pathOf: (filter: Filter) => string,
): Html =>
  html`<ul class="deletable">
    ${filters.map(
      (filter) =>
        html`<li>
          <span>${filter.name}</span>
          <form method="post" action="${pathOf(filter)}/${filter.id}/delete">
            ${csrfField(csrfToken)}
            <button class="button small">Delete<span class="unseen"> ${filter.name}</span></button>
          </form>
        </li>`,
    )}
  </ul>`
