import { AppError } from '../../../shared/errors.ts'

interface WholeNumber {
  readonly name: string
  /** @default 0 */
  readonly min?: number
  readonly max: number
  /** What a call without it means. */
  readonly absent: number
}

/** Reads a whole number of a query or a header. Raises `invalid_request`. */
export function readWhole(text: string | undefined, options: WholeNumber): number {
  const { name, min = 0, max, absent } = options
  if (text === undefined) return absent
  const number = Number(text)
  if (/^\d{1,10}$/.test(text) && number >= min && number <= max) return number
  throw new AppError(
    'invalid_request',
    `${name} must be a whole number between ${min} and ${max}; it is ` +
      `${JSON.stringify(text.slice(0, 40))}.`,
  )
}
