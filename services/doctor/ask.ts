import * as v from 'valibot'
import { deadline } from '../shared/deadline.ts'
import { AppError, toError } from '../shared/errors.ts'
import { readBounded } from '../shared/http/read-bounded.ts'
import { doctorReport } from './report.ts'
import type { Answer } from './report.ts'

const REPORT_BYTES_MAX = 4 << 20

/** How to ask for a report. */
export interface AskOptions {
  readonly token: string
  readonly timeoutMs: number
}

/** Asks one address for its report. Never raises. */
export async function ask(url: string, { token, timeoutMs }: AskOptions): Promise<Answer> {
  try {
    const { status, text } = await deadline({ name: url, timeoutMs }, (signal) =>
      get(`${url}/health/debug`, { token, signal }),
    )
    return toAnswer(url, { status, text })
  } catch (thrown) {
    return { url, problem: describeProblem(thrown) }
  }
}

/** Reads what an address answered. */
export function toAnswer(url: string, { status, text }: { status: number; text: string }): Answer {
  const problem = problemOf(status)
  if (problem) return { url, problem }
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), doctorReport), text)
  if (parsed.success) return { url, report: parsed.output }
  return { url, problem: `HTTP ${status} with something that is no diagnostic report.` }
}

/** Says why the lightweight `/health` of an address is not well yet; undefined if it is. */
export async function findObstacle(url: string, timeoutMs: number): Promise<string | undefined> {
  try {
    const status = await deadline({ name: url, timeoutMs }, async (signal) => {
      const response = await fetch(`${url}/health`, { signal, redirect: 'manual' })
      await response.body?.cancel()
      return response.status
    })
    return status === 200 ? undefined : `HTTP ${status} from ${url}/health`
  } catch (thrown) {
    return describeProblem(thrown)
  }
}

async function get(
  url: string,
  { token, signal }: { token: string; signal: AbortSignal },
): Promise<{ status: number; text: string }> {
  const headers = { 'x-platform-debug-token': token, accept: 'application/json' }
  // The token goes nowhere but where it was sent.
  const response = await fetch(url, { headers, signal, redirect: 'manual' })
  const text = await readBounded(response, REPORT_BYTES_MAX)
  if (text === undefined) throw new Error('The answer is too large for a report.')
  return { status: response.status, text }
}

function problemOf(status: number): string | undefined {
  if (status === 200 || status === 503) return undefined
  if (status === 404) {
    return (
      'HTTP 404: the token is not that of this platform, PLATFORM_SELF_HOSTED is not "true", ' +
      'the provider has no diagnostics, or the deployment is a release from before the report ' +
      '(chart 0.6.11).'
    )
  }
  if (status >= 300 && status < 400) {
    return (
      `HTTP ${status}: a redirect, which is not followed with a token. Give the address that ` +
      'it leads to.'
    )
  }
  return `HTTP ${status}`
}

/** Says why an address was not reached. */
function describeProblem(thrown: unknown): string {
  if (thrown instanceof AppError) return thrown.message
  const error = toError(thrown)
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  const text = cause.message || code
  return `Not reachable: ${text.includes(code) ? text : `${text} (${code})`}`
}
