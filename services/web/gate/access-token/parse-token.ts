import { AppError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import { parseStrictJson } from '../../../shared/http/strict-json.ts'
import { readClaims } from './read-claims.ts'
import type { JsonObject, ReadClaims, Reason } from './rule.ts'

/** Well under Node's limit for all headers. */
export const TOKEN_LENGTH_MAX = 8192
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const JWE_PARTS = 5

/** The header and the claims of a token whose signature nobody has checked yet. */
export interface ParsedToken extends ReadClaims {
  readonly header: JsonObject
}

/** A parsed token, or why it cannot be read. */
export type ParseResult =
  | { readonly ok: true; readonly parsed: ParsedToken }
  | { readonly ok: false; readonly reason: Reason; readonly why: string }

/**
 * Reads a compact JWS (RFC 7515 §7.1) more strictly than the RFC asks for: one spelling of each
 * token only, so that a digest of it names it, and one meaning of each member. Knows nothing of
 * signatures.
 */
export function parseToken(token: string): ParseResult {
  if (token.length > TOKEN_LENGTH_MAX)
    return refuse('too_long', `It has more than ${TOKEN_LENGTH_MAX} characters.`)
  const parts = token.split('.')
  if (parts.length === JWE_PARTS)
    return refuse('encrypted_token', 'It has five parts: it is encrypted (JWE).')
  if (!COMPACT_JWS.test(token))
    return refuse('malformed_token', 'It is not three parts of base64url between two dots.')
  if (!parts.every(isCanonical))
    return refuse('malformed_token', 'A part is base64url in a spelling that no encoder writes.')
  const [first = '', second = ''] = parts
  try {
    const header = readPart(first, 'header')
    return { ok: true, parsed: { header, ...readClaims(readPart(second, 'payload')) } }
  } catch (thrown) {
    if (thrown instanceof AppError) return refuse('malformed_token', thrown.message)
    throw thrown
  }
}

/**
 * Returns true if the bits of the last character beyond the last byte are zero (RFC 4648 §3.5): a
 * decoder ignores them, so that one token would have several spellings.
 */
function isCanonical(part: string): boolean {
  const last = part.at(-1) ?? ''
  if (part.length % 4 === 2) return 'AQgw'.includes(last)
  if (part.length % 4 === 3) return 'AEIMQUYcgkosw048'.includes(last)
  return part.length % 4 === 0
}

function readPart(part: string, name: string): JsonObject {
  const value = parseStrictJson(Buffer.from(part, 'base64url'), `The ${name}`)
  if (isObject(value)) return value
  throw new AppError('invalid_request', `The ${name} is not a JSON object.`)
}

const refuse = (reason: Reason, why: string): ParseResult => ({ ok: false, reason, why })
