import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import type { BusboyInstance } from '@fastify/busboy'
import { TOOL_BYTES_MAX, tooLarge } from '../../../platform/tools/tool-uploads.ts'
import { AppError, toError } from '../../../shared/errors.ts'
import { mediaType } from '../../../shared/http/request-body.ts'
import { checkLength, readBytes } from '../../http/multipart.ts'

/** The fields that are read. Others, such as a long description, are skipped. */
const FIELDS: ReadonlySet<string> = new Set([
  ':action',
  'name',
  'version',
  'sha256_digest',
  'requires_python',
])
/** The known fields of an upload by name. */
export type UploadFields = ReadonlyMap<string, string>

const CONTENT = 'content'
const LIMITS = {
  fields: 1000,
  files: 8,
  parts: 1100,
  fieldNameSize: 100,
  fieldSize: 4096,
  headerPairs: 20,
  headerSize: 8192,
}
/** Beside the file there are long descriptions, signatures, attestations. */
const LIMIT = { bytesMax: TOOL_BYTES_MAX + 4 * 1024 * 1024, tooLarge }

/** The file of an upload, while it arrives. */
interface UploadedFile {
  readonly filename: string
  readonly content: AsyncIterable<Uint8Array>
  /** All fields, which may come before or after the file. */
  readonly fields: () => Promise<UploadFields>
}

/**
 * Reads an upload of a package as twine and the others send it, a multipart form, and hands its
 * file over while it comes. Raises `invalid_request`, `unsupported_media_type`, `payload_too_large`
 * and what `use` raises.
 */
export async function readUpload<Result>(
  request: Request,
  use: (file: UploadedFile) => Promise<Result>,
): Promise<Result> {
  const parser = createParser(request)
  const stop = new AbortController()
  const fields = collectFields(parser)
  let using: Promise<Result> | undefined
  parser.on('file', (name, content, filename) => {
    // Without a listener an upload that is cut off would end the process; whoever reads it learns
    // of it all the same.
    content.on('error', () => {})
    if (name !== CONTENT || using) return void content.resume()
    stop.signal.addEventListener('abort', () => content.destroy(toError(stop.signal.reason)))
    using = use({ filename, content, fields: () => parsed.then(fields) })
    // Nothing more is read for nobody.
    using.catch((thrown: unknown) => stop.abort(thrown))
  })
  const parsed = pipeline(readBytes(request, LIMIT), parser, { signal: stop.signal }).catch(refuse)
  try {
    await parsed
  } catch (thrown) {
    stop.abort(thrown)
    // When it was the use that failed, it tells why.
    await using
    throw thrown
  }
  if (!using) throw malformed(`it has no file in a field "${CONTENT}"`)
  return using
}

function createParser(request: Request): BusboyInstance {
  if (mediaType(request) !== 'multipart/form-data') {
    throw new AppError('unsupported_media_type', 'Send the upload as multipart/form-data.')
  }
  checkLength(request, LIMIT)
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  try {
    return new Busboy({ headers, limits: LIMITS, preservePath: true })
  } catch {
    throw malformed('its Content-Type names no boundary')
  }
}

/** Keeps the known fields; each may be there once. */
function collectFields(parser: BusboyInstance): () => UploadFields {
  const fields = new Map<string, string>()
  let problem: string | undefined
  parser.on('field', (...[name, value, , isTruncated]) => {
    if (!FIELDS.has(name)) return
    if (fields.has(name)) problem ??= `the field "${name}" is there twice`
    if (isTruncated) problem ??= `the field "${name}" is too long`
    fields.set(name, value)
  })
  return () => {
    if (problem !== undefined) throw malformed(problem)
    return fields
  }
}

function refuse(thrown: unknown): never {
  throw thrown instanceof AppError ? thrown : malformed('it is cut off or damaged')
}

const malformed = (why: string): AppError =>
  new AppError('invalid_request', `The upload cannot be read: ${why}.`)
