import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import {
  findUpstreamFile,
  makeUpstreamRoom,
  readUpstreamFile,
  startUpstreamFile,
} from '../../../../platform/tools/upstream-packages.ts'
import type { UpstreamFile } from '../../../../platform/tools/upstream-packages.ts'
import { deadline } from '../../../../shared/deadline.ts'
import { AppError } from '../../../../shared/errors.ts'
import { callIndex, failed, requireOk } from './call-index.ts'
import type { IndexDeps } from './index-deps.ts'

const HEAD_MS = 25_000
const FILE_MS = 600_000
/** The largest file that is fetched, in bytes. */
const FILE_BYTES_MAX = 2 ** 30
const METADATA = '.metadata'

/** A file that a page of the public index names. */
export interface WantedFile {
  readonly name: string
  readonly sha256: string
  /** With `.metadata` behind it, the description of the file (PEP 658). */
  readonly filename: string
}

/** A file while it is sent on. */
export interface SentFile {
  /** In bytes; undefined: nobody says. */
  readonly size: number | undefined
  readonly parts: AsyncIterable<Uint8Array>
}

/** The one for whom a file is opened, and what its page names. */
export interface Opening {
  readonly subject: string
  readonly list: () => Promise<readonly UpstreamFile[]>
}

/** Opens a file as it was kept, or at the public index. Raises `not_found` and `bad_gateway`. */
export async function openFile(
  deps: IndexDeps,
  wanted: WantedFile,
  { subject, list }: Opening,
): Promise<SentFile> {
  // The page says what a description has to be; that of a file is in its address.
  const kept = isDescription(wanted) ? undefined : await openKept(deps, wanted.sha256)
  if (kept) return kept
  const file = findFile(await list(), wanted)
  return (await openKept(deps, file.sha256)) ?? fetchFile(deps, file, subject)
}

async function openKept({ sql }: IndexDeps, sha256: string): Promise<SentFile | undefined> {
  const kept = await findUpstreamFile(sql, sha256)
  return kept && { size: kept.size, parts: readUpstreamFile(sql, kept) }
}

/** The place of a file at the public index, and what it has to be. */
interface Place {
  readonly url: URL
  readonly sha256: string
}

const isDescription = ({ filename }: WantedFile): boolean => filename.endsWith(METADATA)

function findFile(files: readonly UpstreamFile[], wanted: WantedFile): Place {
  const suffix = isDescription(wanted) ? METADATA : ''
  const found = files.find(
    (file) => file.sha256 === wanted.sha256 && file.filename + suffix === wanted.filename,
  )
  const sha256 = suffix === '' ? found?.sha256 : found?.metadataSha256
  if (found && sha256) {
    const url = new URL(found.url)
    url.pathname += suffix
    return { url, sha256 }
  }
  throw new AppError('not_found', `The public index has no such file of ${wanted.name}.`)
}

async function fetchFile(deps: IndexDeps, place: Place, subject: string): Promise<SentFile> {
  const { sql, guard, signIn, bytesMax, takeTurn } = deps
  const whole = AbortSignal.timeout(FILE_MS)
  const { url, answer } = await takeTurn(subject, () =>
    deadline({ name: 'public index', timeoutMs: HEAD_MS, signal: whole }, (signal) =>
      callIndex({ url: place.url, headers: { accept: '*/*' }, guard, signIn, subject, signal }),
    ),
  )
  requireOk(url, answer)
  const size = sizeOf(answer)
  try {
    checkSize(deps, url, size ?? 0)
    await makeUpstreamRoom(sql, { bytesMax, needed: size ?? 0 })
  } catch (thrown) {
    answer.destroy()
    throw thrown
  }
  return { size, parts: receive(deps, { ...place, url }, answer) }
}

function checkSize({ bytesMax }: IndexDeps, url: URL, size: number): void {
  const most = Math.min(FILE_BYTES_MAX, bytesMax)
  if (size <= most) return
  throw failed(url, `the file has ${size} bytes, and at most ${most} are fetched`)
}

async function* receive(
  deps: IndexDeps,
  { url, sha256 }: Place,
  answer: IncomingMessage,
): AsyncGenerator<Buffer> {
  const file = await startUpstreamFile(deps.sql, sha256)
  const hash = createHash('sha256')
  let [size, isWhole] = [0, false]
  let held: Buffer | undefined
  try {
    for await (const part of file.write(answer)) {
      size += part.length
      checkSize(deps, url, size)
      hash.update(part)
      if (held) yield held
      held = part
    }
    if (hash.digest('hex') !== sha256) throw failed(url, 'the SHA-256 of a file is another one')
    await file.keep(size)
    isWhole = true
  } finally {
    if (!isWhole) await file.drop()
  }
  if (held) yield held
}

function sizeOf({ headers }: IncomingMessage): number | undefined {
  const length = headers['content-length']
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined
}
