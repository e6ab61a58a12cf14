import { AppError } from '../../../shared/errors.ts'
import { parseStrictJson } from '../../../shared/strict-json.ts'
import type { JsonObject, Reason } from './rule.ts'

export const TOKEN_LENGTH_MAX = 8192
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const JWE_PARTS = 5

export interface ParsedToken {
  readonly header: JsonObject
  readonly claims: JsonObject
}

export type ParseResult =
  | { readonly ok: true; readonly parsed: ParsedToken }
  | { readonly ok: false; readonly reason: Reason; readonly why: string }

/**
 * Reads a compact JWS (RFC 7515 §7.1) more strictly than the RFC asks for: one spelling of each token only, so that a
 * digest of it names it, and one meaning of each member. Knows nothing of signatures.
 */
export function parseToken(token: string): ParseResult {
  if (token.length > TOKEN_LENGTH_MAX)
    return refuse('too_long', `It has more than ${TOKEN_LENGTH_MAX} characters.`)
  const parts = token.split('.')
  if (parts.length === JWE_PARTS)
    return refuse('encrypted_token', 'It has five parts: it is encrypted (JWE).')
  if (!COMPACT_JWS.test(token))
    return refuse('malformed_token', 'It is not three parts of base64url between two dots.')
  const decoded = parts.map((part) => Buffer.from(part, 'base64url'))
  if (decoded.some((bytes, index) => bytes.toString('base64url') !== parts[index]))
    return refuse('malformed_token', 'A part is base64url in a spelling that no encoder writes.')
  const [header = Buffer.alloc(0), claims = Buffer.alloc(0)] = decoded
  try {
    const parsed = { header: readPart(header, 'header'), claims: readPart(claims, 'payload') }
    return { ok: true, parsed }
  } catch (thrown) {
    if (thrown instanceof AppError) return refuse('malformed_token', thrown.message)
    throw thrown
  }
}

function readPart(bytes: Buffer, name: string): JsonObject {
  const value = parseStrictJson(bytes, `The ${name}`)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new AppError('invalid_request', `The ${name} is not a JSON object.`)
}

const refuse = (reason: Reason, why: string): ParseResult => ({ ok: false, reason, why })
