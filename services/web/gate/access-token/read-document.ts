import type { IncomingMessage } from 'node:http'
import { AppError, toError } from '../../../shared/errors.ts'
import { isObject } from '../../../shared/is-object.ts'
import type { Asker, GuardProblem, OutgoingGuard } from '../../../shared/outgoing/guard.ts'
import { openResponse } from '../../../shared/outgoing/send-request.ts'

const DOCUMENT_BYTES_MAX = 256 * 1024

/** The reasons why a document of an identity provider cannot be had. */
type DocumentProblem =
  | GuardProblem
  | 'not_https'
  | 'not_canonical'
  | 'redirect'
  | 'http_status'
  | 'too_large'
  | 'not_json'
  | 'issuer_mismatch'
  | 'no_keys_address'
  | 'no_keys'

/** The circumstances of a request for a document. */
export interface DocumentRequest extends Asker {
  /** An origin that it lists may be read without TLS when it is written with http://. */
  readonly guard: OutgoingGuard
}

/**
 * Reads a JSON object that an identity provider publishes: https only, public addresses only, no
 * redirect followed, at most 256 KiB, nothing unpacked. Raises `bad_gateway` with a
 * `DocumentProblem` as `details.problem`.
 */
export async function readDocument(
  address: string,
  { guard, ...asker }: DocumentRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const url = new URL(address)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && guard.isListed(url)))
    throw badDocument(
      'not_https',
      `${address.length > 200 ? `${address.slice(0, 200)}…` : address} is not an https:// address.`,
    )
  const response = await send(url, asker, guard)
  try {
    checkStatus(response, url)
    return parseObject(await readText(response, url), url)
  } finally {
    response.destroy()
  }
}

// Kubernetes answers with nothing but the second, the type of a set of keys (RFC 7517, 8.5.2).
const ACCEPT = 'application/json, application/jwk-set+json'

async function send(url: URL, asker: Asker, guard: OutgoingGuard): Promise<IncomingMessage> {
  const headers = { accept: ACCEPT, 'accept-encoding': 'identity' }
  const route = await guard.pin(url, asker)
  return openResponse({ url, signal: asker.signal, headers, route }).catch((thrown: unknown) => {
    throw thrown instanceof AppError ? thrown : unreachable(url, toError(thrown))
  })
}

function checkStatus(response: IncomingMessage, { host }: URL): void {
  const { statusCode: status = 0, headers } = response
  if (status >= 300 && status < 400)
    throw badDocument('redirect', `${host} answered with a redirect, which is not followed.`)
  if (status !== 200) throw badDocument('http_status', `${host} answered HTTP ${status}.`, status)
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw badDocument(
      'not_json',
      `${host} answered with a Content-Encoding that was not asked for.`,
    )
}

async function readText(response: IncomingMessage, url: URL): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of response) {
      if (!Buffer.isBuffer(chunk)) break
      size += chunk.byteLength
      // Leaving the loop ends the connection: nothing of the rest is read.
      if (size > DOCUMENT_BYTES_MAX) break
      chunks.push(chunk)
    }
  } catch (thrown) {
    throw unreachable(url, toError(thrown))
  }
  if (size > DOCUMENT_BYTES_MAX)
    throw badDocument('too_large', `${url.host} answered more than ${DOCUMENT_BYTES_MAX} bytes.`)
  return Buffer.concat(chunks).toString('utf8')
}

function parseObject(text: string, { host }: URL): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Told below.
  }
  throw badDocument('not_json', `${host} did not answer with a JSON object.`)
}

/** Creates the `bad_gateway` error of a document that cannot be used. */
export function badDocument(problem: DocumentProblem, message: string, status?: number): AppError {
  return new AppError('bad_gateway', message, {
    details: { problem, ...(status === undefined ? {} : { status }) },
  })
}

function unreachable({ host }: URL, error: Error): AppError {
  const code = 'code' in error ? ` (${String(error.code)})` : ''
  return badDocument('unreachable', `${host} could not be reached${code}.`)
}
