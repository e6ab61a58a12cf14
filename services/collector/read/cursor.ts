import { AppError } from '../../shared/errors.ts'

/**
 * A place in the list of traces: behind the root span that started then. It stays where it is when
 * spans arrive.
 */
export interface Position {
  /** As PostgreSQL writes it, to the microsecond. */
  readonly startTime: string
  readonly traceId: string
}

const PLACE = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)Z ([0-9a-f-]{36})$/

/** The place as a text that callers hand back as it is. */
export const toCursor = ({ startTime, traceId }: Position): string =>
  Buffer.from(`${startTime}Z ${traceId}`).toString('base64url')

/** Raises `invalid_request` for anything that `toCursor` did not make. */
export function readCursor(cursor: string): Position {
  const [, startTime, traceId] = PLACE.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (startTime && traceId && toCursor({ startTime, traceId }) === cursor) {
    return { startTime, traceId }
  }
  throw wrongCursor()
}

/** The error for a cursor that no page has given. */
export const wrongCursor = (): AppError =>
  new AppError(
    'invalid_request',
    'cursor must be the next_cursor of an earlier page; leave it out for the first page.',
    { details: { parameter: 'cursor' } },
  )
