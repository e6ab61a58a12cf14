import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import type { BusboyConfig, BusboyInstance } from '@fastify/busboy'
import { AppError } from '../../shared/errors.ts'

const LIMITS = {
  fields: 300,
  files: 100,
  parts: 400,
  fieldNameSize: 200,
  fieldSize: 256 * 1024,
  headerPairs: 20,
  headerSize: 8192,
}

/** A file of a form. */
export interface FormFile {
  readonly field: string
  /** As the sender named it. */
  readonly name: string
  readonly declared: string
  readonly chunks: readonly Uint8Array[]
}

/** A form with files. */
export interface MultipartForm {
  readonly fields: URLSearchParams
  /** Those that were chosen; a field without a file is left out. */
  readonly files: readonly FormFile[]
}

/** How long a body may be. */
interface Limit {
  /** Of the whole body. */
  readonly bytesMax: number
  readonly tooLarge: () => AppError
}

/**
 * Reads a form as `multipart/form-data` into memory. Raises `invalid_request` for one that cannot
 * be read, and `tooLarge`.
 */
export async function readMultipart(request: Request, limit: Limit): Promise<MultipartForm> {
  checkLength(request, limit)
  const parser = createFormParser(request, LIMITS)
  const fields = new URLSearchParams()
  const files: FormFile[] = []
  let problem: string | undefined
  for (const event of ['fieldsLimit', 'filesLimit', 'partsLimit']) {
    parser.on(event, () => (problem ??= 'it has too many parts'))
  }
  parser.on('field', (...[name, value, isNameCut, isCut]) => {
    if (isNameCut || isCut) problem ??= `the field ${name.slice(0, 80)} is too long`
    fields.append(name, value)
  })
  parser.on('file', (...[field, stream, given, , type]) => {
    const [name, declared] = [orEmpty(given), orEmpty(type)]
    const chunks: Uint8Array[] = []
    files.push({ field, name, declared, chunks })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    // A body that is cut off ends the parser as well.
    stream.on('error', () => {})
  })
  await pipeline(readBytes(request, limit), parser).catch(refuseForm)
  if (problem !== undefined) throw malformed(problem)
  return { fields, files: files.filter(({ name, chunks }) => name !== '' || chunks.length > 0) }
}

/** Of a part that does not say it, the parser leaves it out. */
const orEmpty = (text: string | undefined): string => text ?? ''

/** Creates what parses a form. Raises `invalid_request` where its type names no boundary. */
export function createFormParser(request: Request, limits: BusboyConfig['limits']): BusboyInstance {
  const headers = { 'content-type': request.headers.get('content-type') ?? '' }
  try {
    return new Busboy({ headers, limits })
  } catch {
    throw malformed('its Content-Type names no boundary')
  }
}

/** Refuses a body that says that it is too long. */
export function checkLength({ headers }: Request, { bytesMax, tooLarge }: Limit): void {
  if (Number(headers.get('content-length') ?? 0) > bytesMax) throw tooLarge()
}

/** Reads a body up to its limit. */
export async function* readBytes(
  { body }: Request,
  { bytesMax, tooLarge }: Limit,
): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > bytesMax) throw tooLarge()
    yield chunk
  }
}

/** Raises what ended the reading of a form: `invalid_request` unless it says its own. */
export function refuseForm(thrown: unknown): never {
  throw thrown instanceof AppError ? thrown : malformed('it is cut off or damaged')
}

/** Creates the error for a form that cannot be read. */
export const malformed = (why: string): AppError =>
  new AppError('invalid_request', `The form cannot be read: ${why}.`)
