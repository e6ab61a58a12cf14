import { request as httpRequest } from 'node:http'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { toError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

/** A layer may be large, and must not stand still. */
const IDLE_MS = 60_000
/** Of one connection, so that the next one has its own. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])

/** Passes a request on to the registry, and its answer back, as they come. */
export function passOn(
  { url, log }: { readonly url: string; readonly log: Log },
  path: string,
  { incoming, outgoing }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
): void {
  const { method = 'GET' } = incoming
  const headers = withoutHops(incoming.headers)
  delete headers['authorization']
  const call = httpRequest(new URL(path, url), { method, headers, timeout: IDLE_MS })
  call.once('timeout', () => call.destroy(new Error(`nothing came for ${IDLE_MS} ms`)))
  call.once('response', (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers))
    // Each of them ends the other one; who asked sees it at the length.
    pipeline(answer, outgoing, () => {})
  })
  call.once('error', (thrown) => {
    log.warn({ reason: toError(thrown).message, method }, 'the registry did not answer')
    if (outgoing.headersSent) outgoing.destroy()
    else refuse(outgoing, { status: 502, code: 'UNKNOWN', message: 'the registry is unavailable' })
  })
  pipeline(incoming, call, () => {})
}

function withoutHops(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)))
}

/** Refuses a request as a registry does. */
export function refuse(
  outgoing: ServerResponse,
  refused: { readonly status: number; readonly code: string; readonly message: string },
): void {
  const { status, code, message } = refused
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'docker-distribution-api-version': 'registry/2.0',
    ...(status === 401 ? { 'www-authenticate': 'Basic realm="registry"' } : {}),
  })
  outgoing.end(JSON.stringify({ errors: [{ code, message }] }))
}
