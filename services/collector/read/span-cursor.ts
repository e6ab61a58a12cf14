import { AppError } from '../../shared/errors.ts'

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
