import type { IncomingMessage } from 'node:http'
import { AppError, toError } from '../../../../shared/errors.ts'
import type { OutgoingGuard } from '../../../../shared/outgoing/guard.ts'
import { openResponse } from '../../../../shared/outgoing/send-request.ts'

const REDIRECTS_MAX = 3
const OWN_HEADERS = { 'accept-encoding': 'identity', 'user-agent': 'crew-platform' }
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** What an index asks of the platform. */
export interface IndexSignIn {
  /** Where it is sent, and nowhere else. */
  readonly origin: string
  readonly authorization: string
}

/** One call of a public index. */
interface IndexCall {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly guard: OutgoingGuard
  readonly signIn: IndexSignIn | undefined
  /** The one for whom it is made. */
  readonly subject: string
  /** The only deadline, also of the answer's body. */
  readonly signal: AbortSignal
}

/**
 * Calls a public index, or where it keeps its files, and follows redirects, each checked as the
 * first address. The caller reads the answer. Raises `bad_gateway`.
 */
export async function callIndex(call: IndexCall) {
  const { url: first, headers, guard, signIn, subject, signal } = call
  let url = first
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const route = await guard.pin(url, { subject, signal })
    const answer = await openResponse({
      url,
      headers: {
        ...headers,
        ...OWN_HEADERS,
        ...(signIn?.origin === url.origin ? { authorization: signIn.authorization } : {}),
      },
      signal,
      route,
    }).catch((thrown: unknown) => {
      signal.throwIfAborted()
      throw failed(url, toError(thrown).message)
    })
    const { location } = answer.headers
    if (!REDIRECTS.has(answer.statusCode ?? 0) || location === undefined) return { url, answer }
    answer.destroy()
    url = nextOf(url, location)
  }
  throw failed(first, `more than ${REDIRECTS_MAX} redirects`)
}

function nextOf(url: URL, location: string): URL {
  const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined
  const isSafe =
    next && (next.protocol === 'https:' || (url.protocol === 'http:' && next.protocol === 'http:'))
  if (!isSafe) throw failed(url, 'it redirects to an address that is not allowed')
  return next
}

/** Creates the `bad_gateway` error for an index that does not answer as it should. */
export const failed = ({ host }: URL, why: string): AppError =>
  new AppError('bad_gateway', `The public index at ${host} cannot be used: ${why}.`)

/** Raises `bad_gateway` for an answer that is not what was asked for. */
export function requireOk(url: URL, answer: IncomingMessage): void {
  if (answer.statusCode === 200) return
  answer.destroy()
  throw failed(url, `it answers HTTP ${answer.statusCode}`)
}
