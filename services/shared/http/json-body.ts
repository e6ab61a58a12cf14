import { AppError } from '../errors.ts'
import { mediaType, readBody } from './request-body.ts'
import { parseStrictJson } from './strict-json.ts'

/**
 * Reads a JSON body strictly, see `parseStrictJson`; `type` is another media type that it may have.
 * Raises `unsupported_media_type`, `payload_too_large` and `invalid_request`.
 */
export async function readJson(
  request: Request,
  maxBytes: number,
  type = JSON_TYPE,
): Promise<unknown> {
  requireJson(request, type)
  return parseStrictJson(await readBody(request, maxBytes), 'The body')
}

const JSON_TYPE = 'application/json'

function requireJson(request: Request, type: string): void {
  const [, charset = 'utf-8'] =
    /;\s*charset="?([\w-]+)"?/i.exec(request.headers.get('content-type') ?? '') ?? []
  if (![JSON_TYPE, type].includes(mediaType(request)) || charset.toLowerCase() !== 'utf-8') {
    throw new AppError(
      'unsupported_media_type',
      'Send the body as `Content-Type: application/json`.',
    )
  }
  if (request.headers.has('content-encoding')) {
    throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
}
