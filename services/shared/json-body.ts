import { AppError } from './errors.ts'
import { mediaType, readBody } from './request-body.ts'

const DEPTH_MAX = 32

/**
 * Reads a JSON body strictly: members that are there twice, which JSON.parse drops in silence, are refused, and so is what
 * PostgreSQL can not hold.
 * Raises `unsupported_media_type`, `payload_too_large` and `invalid_request`.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  requireJson(request)
  const body = await readBody(request, maxBytes)
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
    const value: unknown = JSON.parse(text)
    checkMembers(text)
    return value
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    throw new AppError('invalid_request', 'The body is not valid JSON in UTF-8.')
  }
}

function requireJson(request: Request): void {
  const [, charset = 'utf-8'] =
    /;\s*charset="?([\w-]+)"?/i.exec(request.headers.get('content-type') ?? '') ?? []
  if (mediaType(request) !== 'application/json' || charset.toLowerCase() !== 'utf-8') {
    throw new AppError(
      'unsupported_media_type',
      'Send the body as `Content-Type: application/json`.',
    )
  }
  if (request.headers.has('content-encoding')) {
    throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
}

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]|-?\d[\d.eE+-]*/g

/** Walks over valid JSON. Raises `invalid_request` for a member that is there twice, and for what PostgreSQL can not hold. */
function checkMembers(text: string): void {
  const open: (Set<string> | undefined)[] = []
  for (const [token, colon] of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') open.push(token === '{' ? new Set() : undefined)
    else if (token === '}' || token === ']') open.pop()
    else if (token.startsWith('"'))
      checkString(token, colon === undefined ? undefined : open.at(-1))
    else if (!Number.isFinite(Number(token))) throw refused('a number is out of range')
    if (open.length > DEPTH_MAX) throw refused(`it is nested deeper than ${DEPTH_MAX} levels`)
  }
}

function checkString(token: string, members: Set<string> | undefined): void {
  const text = String(JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)))
  if (text.includes('\0')) throw refused('a string holds the character U+0000')
  if (/\p{Surrogate}/u.test(text)) throw refused('a string holds half of a surrogate pair')
  if (members?.has(text)) throw refused('a member is there twice', { duplicate_member: text })
  members?.add(text)
}

function refused(why: string, details?: Record<string, string>): AppError {
  return new AppError('invalid_request', `The body can not be accepted: ${why}.`, { details })
}
