import { createHash } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'

/** What a model, a tool or a person was asked, in full. */
export type StepRequest = Readonly<Record<string, unknown>>

/** Returns the SHA-256 of a request as canonical JSON (RFC 8785), in hexadecimal digits. */
export const requestDigest = (request: StepRequest): string =>
  createHash('sha256').update(canonicalJson(request)).digest('hex')
