import { FILE_BYTES_MAX, fileTooLarge } from '../../platform/runs/input-files.ts'
import { limitConcurrency } from './limit-concurrency.ts'
import { readMultipart } from './multipart.ts'
import type { MultipartForm } from './multipart.ts'

/** Each holds its files in memory until they are stored. */
const UPLOADS = {
  concurrent: 2,
  waitingMax: 8,
  busy: 'Too many files are being sent right now. Try again in a moment.',
}
/** Beside the files there are the other fields and the boundaries. */
const FORM_BYTES_MAX = FILE_BYTES_MAX + 1024 * 1024

/** Lets few calls at a time hold files in memory; the others wait before they are read. */
export type TakeTurn = <Result>(call: () => Promise<Result>) => Promise<Result>

/** Creates the waiting line of calls with files. */
export function createTurns(): TakeTurn {
  const inTurn = limitConcurrency((call: () => Promise<void>) => call(), UPLOADS)
  return async function takeTurn<Result>(call: () => Promise<Result>) {
    let result: { readonly of: Result } | undefined
    await inTurn(async () => {
      result = { of: await call() }
    })
    if (!result) throw new Error('the call has ended')
    return result.of
  }
}

/** Reads a form with files of at most 20 MiB. Raises `payload_too_large` and `invalid_request`. */
export const readFileForm = (request: Request): Promise<MultipartForm> =>
  readMultipart(request, { bytesMax: FORM_BYTES_MAX, tooLarge: fileTooLarge })
