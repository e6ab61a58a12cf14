import { AppError } from '../../../shared/errors.ts'
import { mediaType } from '../../../shared/http/request-body.ts'
import { parseStrictJson } from '../../../shared/http/strict-json.ts'

const FIELDS_MAX = 1000

/**
 * Reads what was delivered: JSON, or a form. A form whose only field is `payload`, as GitHub and
 * Slack send it, is the JSON in there. Raises `unsupported_media_type` and `invalid_request`.
 */
export function readPayload(request: Request, body: Uint8Array): unknown {
  if (request.headers.has('content-encoding')) {
    throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
  const type = mediaType(request)
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return parseStrictJson(body, 'The body')
  if (type === 'application/x-www-form-urlencoded') return readForm(body)
  throw new AppError(
    'unsupported_media_type',
    'Send the body as application/json or application/x-www-form-urlencoded.',
  )
}

function readForm(body: Uint8Array): unknown {
  const fields = [...new URLSearchParams(Buffer.from(body).toString())]
  const [first, ...others] = fields
  if (first?.[0] === 'payload' && others.length === 0) {
    return parseStrictJson(Buffer.from(first[1]), 'The field payload')
  }
  if (fields.length > FIELDS_MAX || fields.flat().some((text) => text.includes('\0'))) {
    throw new AppError(
      'invalid_request',
      `A form has at most ${FIELDS_MAX} fields here, without the character U+0000.`,
    )
  }
  return Object.fromEntries(fields)
}
