import type { Context } from 'hono'
import type { Inputs } from '../../../platform/definitions/input-declarations.ts'
import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import { readJson } from '../../../shared/http/json-body.ts'
import { describedBody } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { inputs } from '../openapi/run-schemas.ts'

/** The longest body of a call that starts a run. */
export const BODY_BYTES_MAX = 256 * 1024
/** The body of a kickoff, with the inputs of any automation. */
export const kickoffBody = describedBody(s.document('KickoffRequest', { inputs }), {
  example: { inputs: { topic: 'tidal power' } },
  bytesMax: BODY_BYTES_MAX,
})

/**
 * Reads the inputs of a kickoff body, which is exactly `{"inputs": {…}}` (SPEC 4.4). Raises
 * `unprocessable`, naming stray keys, and what `readJson` raises.
 */
export async function readKickoff({ req }: Context): Promise<Inputs> {
  const body = await readJson(req.raw, BODY_BYTES_MAX)
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
