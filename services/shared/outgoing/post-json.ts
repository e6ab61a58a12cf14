import { sendRequest } from './send-request.ts'
import type { OutgoingRequest } from './send-request.ts'

type PostOptions = Omit<OutgoingRequest, 'method'> & {
  readonly body: string
  /** 0: nothing of the body is read. */
  readonly responseBytesMax: number
}

/** A response, read up to the limit; `body` is undefined when it was longer. */
export interface PostResult {
  readonly status: number
  /** It came from an address that is not on the public Internet. */
  readonly isPrivate: boolean
  readonly retryAfter: string | undefined
  /** `undefined`: longer than the limit. */
  readonly body: string | undefined
}

/**
 * Posts JSON and reads the whole answer, up to a limit. The signal is the only deadline: a
 * reasoning model may think for long. Follows no redirect.
 */
export async function postJson(options: PostOptions): Promise<PostResult> {
  const json = { 'content-type': 'application/json', accept: 'application/json' }
  const response = await sendRequest({
    ...options,
    method: 'POST',
    headers: { ...options.headers, ...json },
  })
  const { status, isPrivate, headers, body, isCut } = response
  return {
    status,
    isPrivate,
    retryAfter: headers['retry-after'],
    body: isCut ? undefined : body.toString('utf8'),
  }
}
