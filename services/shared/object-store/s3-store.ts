import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '../backoff.ts'
import { deadline } from '../deadline.ts'
import { AppError, toError } from '../errors.ts'
import { routeThrough } from '../outgoing/forward-proxy.ts'
import type { ForwardProxy } from '../outgoing/forward-proxy.ts'
import { openResponse } from '../outgoing/send-request.ts'
import { createByteReader } from './byte-reader.ts'
import { encode, signRequest } from './sign-request.ts'
import type { S3Login } from './sign-request.ts'
import type { ObjectStore, StoredFile } from './object-store.ts'

/** A bucket of an S3-compatible store, addressed by its path. */
interface S3Bucket extends S3Login {
  /** Such as `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string
  readonly bucket: string
  /** Before the names of all files; empty or with `/` at its end. */
  readonly prefix: string
  /** @default no proxy */
  readonly proxy?: ForwardProxy | undefined
}

const FIRST_PART_BYTES = 8 << 20
const PARTS_BEFORE_GROWTH = 1000
const MAX_PARTS = 10_000
const TIMEOUT_MS = 120_000
const TRIES = 5
const BACKOFF = { firstMs: 200, maxMs: 5000 }
/** Of an answer that is read as a whole. */
const PAGES_MAX = 10_000

interface Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly path?: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Buffer
  /** Nothing is written where an object is, and the answer is 412 then. */
  readonly isNew?: boolean
}

/** Keeps files in a bucket. Each call has a deadline, and is tried again when it may succeed. */
export function createS3Store(bucket: S3Bucket): ObjectStore {
  const call = (request: Request) => callPatiently(bucket, request)

  return {
    place: `${bucket.endpoint}/${bucket.bucket}/${bucket.prefix}`,
    list: () => listAll(bucket, call),
    async *read(path) {
      const { body } = await call({ method: 'GET', path })
      if (body === null) return
      const reader = body.getReader()
      try {
        for (;;) {
          const next = await deadline({ name: 'the object store', timeoutMs: TIMEOUT_MS }, () =>
            reader.read(),
          )
          if (next.done) return
          yield Buffer.from(next.value)
        }
      } finally {
        await reader.cancel().catch(() => {})
      }
    },
    async write(path, content) {
      const reader = createByteReader(content)
      const first = await reader.upTo(FIRST_PART_BYTES)
      if (await reader.isAtEnd()) {
        await call({ method: 'PUT', path, body: first }).then(drain)
        return
      }
      const answer = await call({ method: 'POST', path, query: { uploads: '' } })
      const uploadId = elementOf(await answer.text(), 'UploadId')
      try {
        const tags = [await putPart(call, { path, uploadId, number: 1, part: first })]
        for (let number = 2; !(await reader.isAtEnd()); number++) {
          if (number > MAX_PARTS) {
            const message = `${path} does not fit into ${MAX_PARTS} parts.`
            throw new AppError('payload_too_large', message)
          }
          const part = await reader.upTo(partBytes(number))
          tags.push(await putPart(call, { path, uploadId, number, part }))
        }
        await complete(call, { path, uploadId, tags })
      } catch (thrown) {
        // Or the parts stay, and are paid for.
        await call({ method: 'DELETE', path, query: { uploadId } }).then(drain, () => {})
        throw thrown
      }
    },
    async writeNew(path, content) {
      // A store that knows no conditions would write over it.
      if (await isThere(call, path)) return false
      const answer = await call({ method: 'PUT', path, body: content, isNew: true })
      await drain(answer)
      return answer.status !== EXISTS
    },
    remove: (path) => call({ method: 'DELETE', path }).then(drain),
  }
}

type Call = (request: Request) => Promise<Response>

async function isThere(call: Call, path: string): Promise<boolean> {
  try {
    const { body } = await call({ method: 'GET', path })
    await body?.cancel()
    return true
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'not_found') return false
    throw thrown
  }
}

const drain = async (response: Response): Promise<void> => void (await response.arrayBuffer())

/** Parts grow, up to 64 MiB, so that ten thousand of them hold some 500 GB. */
const partBytes = (number: number): number =>
  FIRST_PART_BYTES * 2 ** Math.min(3, Math.floor(number / PARTS_BEFORE_GROWTH))

interface Part {
  readonly path: string
  readonly uploadId: string
  readonly number: number
  readonly part: Buffer
}

async function putPart(call: Call, { path, uploadId, number, part }: Part): Promise<string> {
  const query = { partNumber: String(number), uploadId }
  const response = await call({ method: 'PUT', path, query, body: part })
  await drain(response)
  return response.headers.get('etag') ?? ''
}

interface Upload {
  readonly path: string
  readonly uploadId: string
  readonly tags: readonly string[]
}

async function complete(call: Call, { path, uploadId, tags }: Upload): Promise<void> {
  const parts = tags.map(
    (tag, index) =>
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
  )
  const xml = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  const body = Buffer.from(xml)
  const answer = await (await call({ method: 'POST', path, query: { uploadId }, body })).text()
  // The store may have begun with 200 before it knew.
  if (answer.includes('<Error>')) throw storeError('complete an upload', 200, answer)
}

async function listAll(bucket: S3Bucket, call: Call): Promise<readonly StoredFile[]> {
  const files: StoredFile[] = []
  let token: string | undefined
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const query = {
      'list-type': '2',
      prefix: bucket.prefix,
      ...(token === undefined ? {} : { 'continuation-token': token }),
    }
    const page = await (await call({ method: 'GET', query })).text()
    for (const [, entry = ''] of page.matchAll(/<Contents>([^]*?)<\/Contents>/g)) {
      const path = elementOf(entry, 'Key').slice(bucket.prefix.length)
      files.push({ path, bytes: Number(elementOf(entry, 'Size')) })
    }
    if (!/<IsTruncated>true</.test(page)) return files
    token = elementOf(page, 'NextContinuationToken')
  }
  return files
}

const EXISTS = 412

/** Failures that pass: too many requests, two at a time, and those of the store itself. */
const passes = (status: number): boolean => status === 409 || status === 429 || status >= 500

async function callPatiently(bucket: S3Bucket, request: Request): Promise<Response> {
  for (let tries = 1; ; tries++) {
    try {
      const response = await send(bucket, request)
      if (response.ok || (request.isNew && response.status === EXISTS)) return response
      const body = await response.text()
      if (passes(response.status) && tries < TRIES) throw new Error(`HTTP ${response.status}`)
      throw storeError(`${request.method} ${request.path ?? 'the list'}`, response.status, body)
    } catch (thrown) {
      if (thrown instanceof AppError && thrown.code !== 'timeout') throw thrown
      if (tries === TRIES) throw unreachable(bucket, thrown)
    }
    await delay(backoffMs(tries, BACKOFF))
  }
}

async function send(
  bucket: S3Bucket,
  { method, path = '', query = {}, body = Buffer.alloc(0), isNew = false }: Request,
): Promise<Response> {
  const key = path === '' ? '' : `/${`${bucket.prefix}${path}`.split('/').map(encode).join('/')}`
  const url = new URL(`${bucket.endpoint}/${encode(bucket.bucket)}${key}`)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const { host: _, ...headers } = signRequest({ method, url, body, now: new Date() }, bucket)
  if (isNew) headers['if-none-match'] = '*'
  const limit = { name: 'the object store', timeoutMs: TIMEOUT_MS }
  const answer = await deadline(limit, (signal) =>
    openResponse({ url, method, headers, signal, body, route: routeThrough(bucket.proxy, url) }),
  )
  const { statusCode: status = 0, headers: given } = answer
  const isEmpty = status === 204 || status === 304
  // Its headers are those that this file reads.
  const kept = new Headers()
  if (given.etag !== undefined) kept.set('etag', given.etag)
  const content = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
  return new Response(content, { status, headers: kept })
}

function storeError(what: string, status: number, body: string): AppError {
  const code = /<Code>([^<]*)</.exec(body)?.[1] ?? `HTTP ${status}`
  const message = /<Message>([^<]*)</.exec(body)?.[1] ?? ''
  const kind = status === 404 ? 'not_found' : 'unavailable'
  return new AppError(kind, `The object store refused ${what}: ${code} ${message}`.trim())
}

const unreachable = ({ endpoint }: S3Bucket, thrown: unknown): AppError => {
  const { message, cause } = toError(thrown)
  const why = cause instanceof Error ? cause.message : message
  return new AppError('unavailable', `The object store ${endpoint} does not answer: ${why}`)
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

function elementOf(xml: string, name: string): string {
  const [, text = ''] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? []
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
