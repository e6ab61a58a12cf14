import { AppError } from '../../../shared/errors.ts'

/** A place in a list, behind a row. It stays where it is when spans arrive. */
export interface Position {
  /** The list's order, and the row's value in it: a number, or the start once more. */
  readonly sort: string
  readonly sortKey: string
  /** As PostgreSQL writes it, to the microsecond. */
  readonly startTime: string
  readonly traceId: string
  readonly organization: string
}

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?$/
const NUMBER = /^\d{1,60}(?:\.\d{1,60})?$/
const TRACE = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The place as a text that callers hand back as it is. */
export const toCursor = (at: Position): string =>
  Buffer.from(
    JSON.stringify([at.sort, at.sortKey, at.startTime, at.traceId, at.organization]),
  ).toString('base64url')

/** Raises `invalid_request` for anything that `toCursor` did not make. */
export function readCursor(cursor: string): Position {
  const position = parse(cursor)
  if (position && toCursor(position) === cursor) return position
  throw invalidCursor()
}

/** Builds the 400 for a cursor that is none, or one of another order. */
export const invalidCursor = (): AppError =>
  new AppError(
    'invalid_request',
    'cursor must be the next_cursor of an earlier page of the same list; leave it out for the ' +
      'first page.',
    { details: { parameter: 'cursor' } },
  )

function parse(cursor: string): Position | undefined {
  const parts = parseTexts(Buffer.from(cursor, 'base64url').toString())
  const [sort = '', sortKey = '', startTime = '', traceId = '', organization = ''] = parts
  const isKey = TIME.test(sortKey) || NUMBER.test(sortKey)
  const isPosition = isKey && TIME.test(startTime) && TRACE.test(traceId)
  if (parts.length !== 5 || !isPosition || organization.includes('\0')) return undefined
  return { sort, sortKey, startTime, traceId, organization }
}

function parseTexts(json: string): string[] {
  try {
    const value: unknown = JSON.parse(json)
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}
