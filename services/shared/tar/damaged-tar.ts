import { AppError } from '../errors.ts'

/** Creates the error of a tar archive that cannot be read. */
export const damagedTar = (why: string): AppError =>
  new AppError('invalid_request', `The tar archive cannot be read: ${why}.`)
