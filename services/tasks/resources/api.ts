import { setTimeout as sleep } from 'node:timers/promises'
import * as v from 'valibot'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import { readBounded } from '../../shared/http/read-bounded.ts'

const CALL_MS = 30_000
const ANSWER_BYTES_MAX = 64 << 20
const TRIES = 5
const PAUSE_SECONDS = { standard: 5, max: 60 }

const problem = v.object({ detail: v.string() })

/** Where a platform is, and the token for it. */
export interface Address {
  readonly url: string
  readonly token: string
}

interface Request {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly json?: unknown
  /** The version that the call is for. */
  readonly version?: string | undefined
}

/** Calls the API of a platform. */
export type Api = (path: string, request?: Request) => Promise<unknown>

/**
 * Creates what calls the API. It raises `unavailable` while the platform cannot be reached,
 * `bad_gateway` for what is no answer of a platform, `precondition_failed` for another version, and
 * `unprocessable` for whatever else is refused.
 */
export const createApi =
  (address: Address): Api =>
  async (path, request = {}) => {
    for (let tries = 1; ; tries++) {
      const answer = await send(address, path, request).catch((thrown: unknown) => {
        // A connection that was kept may have ended since: what only reads is asked once more.
        if (tries > 1 || request.method !== undefined) throw thrown
      })
      if (!answer) continue
      const { status, text, retryAfter } = answer
      const isBusy = status === 429 || status === 503
      if (!isBusy || tries === TRIES) return readAnswer({ status, text, url: address.url })
      await sleep(Math.min(retryAfter, PAUSE_SECONDS.max) * 1000)
    }
  }

async function send({ url, token }: Address, path: string, { method, json, version }: Request) {
  const name = `${method ?? 'GET'} ${url}${path}`
  try {
    return await deadline({ name, timeoutMs: CALL_MS }, async (signal) => {
      const response = await fetch(`${url}${path}`, {
        method: method ?? 'GET',
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${token}`,
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...(version === undefined ? {} : { 'if-match': `"${version}"` }),
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        // The token is sent to no other address.
        redirect: 'manual',
        signal,
      })
      const pause = response.headers.get('retry-after') ?? ''
      const retryAfter = /^\d+$/.test(pause) ? Number(pause) : PAUSE_SECONDS.standard
      return {
        status: response.status,
        text: await readBounded(response, ANSWER_BYTES_MAX),
        retryAfter,
      }
    })
  } catch (thrown) {
    const { message, cause } = toError(thrown)
    const why = cause === undefined ? message : toError(cause).message
    throw new AppError('unavailable', `${url} cannot be reached: ${why}`)
  }
}

interface Answered {
  readonly status: number
  readonly text: string | undefined
  readonly url: string
}

function readAnswer({ status, text, url }: Answered): unknown {
  if (status === 204) return undefined
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson()), text)
  if (status < 300 && parsed.success) return parsed.output
  const told = v.safeParse(problem, parsed.output)
  if (status >= 500 || status === 429) {
    throw new AppError('unavailable', `${url} answered HTTP ${status}. Try again later.`)
  }
  if (!told.success) {
    const what = `${url} answered HTTP ${status}, which is no answer of a platform.`
    throw new AppError('bad_gateway', `${what} Look at --url.`)
  }
  const { detail } = told.output
  throw new AppError(status === 412 ? 'precondition_failed' : 'unprocessable', detail, {
    details: { status },
  })
}
