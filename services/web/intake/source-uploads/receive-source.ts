import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { SOURCE_BYTES_MAX, sourceTooLarge } from '../../../platform/crews/sources.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType } from '../../../shared/http/request-body.ts'
import { limitConcurrency } from '../../http/limit-concurrency.ts'
import {
  checkLength,
  createFormParser,
  malformed,
  readBytes,
  refuseForm,
} from '../../http/multipart.ts'

/** Each takes as much room on the disk as an archive may have. */
const UPLOADS = {
  concurrent: 2,
  waitingMax: 10,
  busy: 'Too many sources are being sent right now. Try again in a moment.',
}
/** Beside the archive there are the other fields and the boundaries. */
const FORM_BYTES_MAX = SOURCE_BYTES_MAX + 64 * 1024
const LIMITS = {
  fields: 20,
  files: 2,
  parts: 24,
  fieldNameSize: 100,
  fieldSize: 4096,
  headerPairs: 20,
  headerSize: 8192,
}
/** The field of a form that has the archive. */
export const SOURCE_FIELD = 'source'
const ARCHIVES = new Set([
  'application/zip',
  'application/x-zip-compressed',
  'application/gzip',
  'application/x-gzip',
  'application/x-tar',
  'application/octet-stream',
])
const NAME_CHARACTERS_MAX = 200

/** An archive that was sent, on the disk for as long as it is used. */
interface ReceivedSource {
  readonly path: string
  /** As the sender named it. */
  readonly name: string
  readonly fields: URLSearchParams
}

/** Receives an archive and hands it on; it is deleted when `use` has ended. */
type ReceiveSource = <Result>(
  request: Request,
  use: (source: ReceivedSource) => Promise<Result>,
) => Promise<Result>

/**
 * Creates what receives archives, a few at a time: the body itself, or the field `source` of a
 * form. The function raises `unsupported_media_type`, `payload_too_large`, `invalid_request`,
 * `unavailable`, and what `use` raises.
 */
export function createReceiver(): ReceiveSource {
  const inTurn = limitConcurrency((call: () => Promise<void>) => call(), UPLOADS)
  return async function receive<Result>(
    request: Request,
    use: (source: ReceivedSource) => Promise<Result>,
  ) {
    checkType(request)
    let result: { readonly of: Result } | undefined
    await inTurn(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'source-'))
      try {
        result = { of: await use(await save(request, join(folder, 'archive'))) }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    })
    if (!result) throw new Error('the call has ended')
    return result.of
  }
}

function checkType(request: Request): void {
  const type = mediaType(request)
  if (type === 'multipart/form-data' || ARCHIVES.has(type)) return
  throw new AppError(
    'unsupported_media_type',
    `Send a .zip or a .tar.gz as the field "${SOURCE_FIELD}" of multipart/form-data, or as ` +
      'application/zip or application/gzip.',
  )
}

async function save(request: Request, path: string): Promise<ReceivedSource> {
  const isForm = mediaType(request) === 'multipart/form-data'
  const limit = {
    bytesMax: isForm ? FORM_BYTES_MAX : SOURCE_BYTES_MAX,
    tooLarge: sourceTooLarge,
  }
  checkLength(request, limit)
  const bytes = readBytes(request, limit)
  if (isForm) return saveForm(request, bytes, path)
  await pipeline(bytes, createWriteStream(path))
  return { path, name: 'source', fields: new URLSearchParams() }
}

async function saveForm(
  request: Request,
  bytes: AsyncIterable<Uint8Array>,
  path: string,
): Promise<ReceivedSource> {
  const parser = createFormParser(request, LIMITS)
  const fields = new URLSearchParams()
  let saving: Promise<string> | undefined
  let problem: string | undefined
  parser.on('field', (...[name, value, isNameCut, isCut]) => {
    if (isNameCut || isCut) problem ??= `the field ${name.slice(0, 80)} is too long`
    fields.append(name, value)
  })
  parser.on('file', (field, stream, filename) => {
    // A body that is cut off ends the parser as well.
    stream.on('error', () => {})
    if (field !== SOURCE_FIELD || saving) return void stream.resume()
    saving = pipeline(stream, createWriteStream(path)).then(() => filename)
    saving.catch(() => {})
  })
  await pipeline(bytes, parser).catch(refuseForm)
  if (problem !== undefined) throw malformed(problem)
  if (!saving) throw malformed(`it has no file in a field "${SOURCE_FIELD}"`)
  return {
    path,
    name: ((await saving) ?? '').replaceAll(/\p{Cc}/gu, '').slice(-NAME_CHARACTERS_MAX) || 'source',
    fields,
  }
}
