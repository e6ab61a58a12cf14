import type { Context } from 'hono'
import { isUuid } from '../../../../platform/automations/automations.ts'
import type { PageRequest } from '../../../../shared/postgres/paging.ts'

const ROWS = 50
const SEARCH_LENGTH_MAX = 100
const ID_MAX = 2 ** 31 - 1

/** Tells a text that names a row of a list from one that cannot. */
type IsCursor = (text: string) => boolean

/** Tells whether a text can be an id of the database. */
export const isIdCursor: IsCursor = (text) => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= ID_MAX
/** Tells whether a text can be a name. */
export const isNameCursor: IsCursor = (text) => text.length <= 200 && !/\p{Cc}/u.test(text)
/** Tells whether a text is a UUID. */
export const isUuidCursor: IsCursor = isUuid

/**
 * Returns the page that `?after=`, `?before=` and `?q=` ask for; the first one for an address that
 * was cut or mistyped.
 */
export function readPageRequest(c: Context, isCursor: IsCursor): PageRequest {
  const cursor = (name: string): string | undefined => {
    const text = c.req.query(name) ?? ''
    return text !== '' && isCursor(text) ? text : undefined
  }
  return {
    limit: ROWS,
    after: cursor('after'),
    before: cursor('before'),
    search: readSearch(c.req.query('q') ?? ''),
  }
}

function readSearch(text: string): string | undefined {
  const plain = text.replace(/\p{Cc}+/gu, ' ').trim()
  return plain.slice(0, SEARCH_LENGTH_MAX) || undefined
}
