import type { Inputs } from '../../../platform/definitions/input-declarations.ts'
import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'

/**
 * Reads the inputs of a kickoff body, which is exactly `{"inputs": {…}}` (SPEC 4.4). Raises
 * `unprocessable`, naming stray keys.
 */
export function readKickoff(body: unknown): Inputs {
  if (!isObject(body)) {
    throw new AppError('unprocessable', 'The body is a JSON object: {"inputs": {…}}.')
  }
  const strayKeys = Object.keys(body).filter((key) => key !== 'inputs')
  if (strayKeys.length > 0) {
    const shown = strayKeys.map((key) => JSON.stringify(key)).join(', ')
    throw new AppError('unprocessable', `The body has one key, "inputs". Remove ${shown}.`, {
      details: { stray_keys: strayKeys },
    })
  }
  if (!isObject(body['inputs'])) {
    throw new AppError('unprocessable', '"inputs" is an object with the inputs by name.')
  }
  return body['inputs']
}

/**
 * Reads an `Idempotency-Key` of 1 to 255 visible ASCII characters; undefined if none is sent.
 * Raises `invalid_request`.
 */
export function readIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined || /^[\x21-\x7e]{1,255}$/.test(header)) return header
  throw new AppError(
    'invalid_request',
    'An Idempotency-Key has 1 to 255 visible ASCII characters, without spaces.',
  )
}
