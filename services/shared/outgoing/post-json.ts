import type { IncomingMessage } from 'node:http'
import { readEvents } from '../http/read-events.ts'
import { openResponse, readBody } from './send-request.ts'
import type { OutgoingRequest } from './send-request.ts'

type PostOptions = Omit<OutgoingRequest, 'method'> & {
  readonly body: string
  /** 0: nothing of the body is read. */
  readonly responseBytesMax: number
  /** Called with the data of each event, when the answer is a stream of events; `body` is empty. */
  readonly onEvent?: ((data: string) => void) | undefined
}

/** A response, read up to the limit; `body` is undefined when it was longer. */
export interface PostResult {
  readonly status: number
  readonly retryAfter: string | undefined
  /** `undefined`: longer than the limit. */
  readonly body: string | undefined
}

/**
 * Posts JSON and reads the whole answer, up to a limit. The signal is the only deadline: a
 * reasoning model may think for long. Follows no redirect.
 */
export async function postJson(options: PostOptions): Promise<PostResult> {
  const { responseBytesMax, onEvent } = options
  const accept = onEvent ? 'text/event-stream, application/json' : 'application/json'
  const response = await openResponse({
    ...options,
    method: 'POST',
    headers: { ...options.headers, 'content-type': 'application/json', accept },
  })
  const { statusCode: status = 0, headers } = response
  const head = { status, retryAfter: headers['retry-after'] }
  if (onEvent && status < 300 && /^text\/event-stream\b/i.test(headers['content-type'] ?? '')) {
    const isWhole = await hearEvents(response, responseBytesMax, onEvent)
    return { ...head, body: isWhole ? '' : undefined }
  }
  const { body, isCut } = await readBody(response, responseBytesMax)
  return { ...head, body: isCut ? undefined : body.toString('utf8') }
}

/** Returns false for a stream that was longer than the limit. */
async function hearEvents(
  response: IncomingMessage,
  bytesMax: number,
  onEvent: (data: string) => void,
): Promise<boolean> {
  try {
    for await (const data of readEvents(response, bytesMax)) onEvent(data)
    return true
  } catch (thrown) {
    if (thrown instanceof RangeError) return false
    throw thrown
  }
}
