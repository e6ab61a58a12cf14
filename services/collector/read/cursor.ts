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

const NUMBERS = /^-?\d{1,19}(?: -?\d{1,19}){0,3}$/

/** A place that some int8 numbers say, as a text that callers hand back as it is. */
export const toNumbersCursor = (numbers: readonly bigint[]): string =>
  Buffer.from(numbers.join(' ')).toString('base64url')

/** Raises `invalid_request` for anything but so many numbers from `toNumbersCursor`. */
export function readNumbersCursor(cursor: string, count: number): bigint[] {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const numbers = NUMBERS.test(text) ? text.split(' ').map(BigInt) : []
  const isWhole = numbers.length === count && numbers.every(isInt8)
  if (!isWhole || toNumbersCursor(numbers) !== cursor) throw wrongCursor()
  return numbers
}

/** Tells whether a column of type int8 can hold the number. */
export const isInt8 = (number: bigint): boolean => BigInt.asIntN(64, number) === number
