import type { AppError } from '../../../shared/errors.ts'

/** The address of the token endpoint. */
export const TOKEN_PATH = '/oauth/token'

/** The characters that an error_description may have, without others (RFC 6749 §5.2). */
const UNSAID = /[^\x20-\x21\x23-\x5b\x5d-\x7e]/g

/** Answers with an error as clients of OAuth read it (RFC 6749 §5.2). */
export function tokenErrorResponse({ status, message, headers, details }: AppError): Response {
  const usual = status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request'
  const { error = usual } = details
  const body = { error, error_description: message.replaceAll(UNSAID, "'") }
  return Response.json(body, {
    status,
    headers: { ...headers, 'cache-control': 'no-store', pragma: 'no-cache' },
  })
}
