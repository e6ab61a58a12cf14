import { AppError } from '../../../shared/errors.ts'

/** Reads `true` or `false` of a query; absent means false. Raises `invalid_request`. */
export function readFlag(given: string | undefined, name: string): boolean {
  if (given === undefined || given === 'false') return false
  if (given === 'true') return true
  throw new AppError('invalid_request', `${name} is "${given.slice(0, 100)}"; send true or false.`)
}
