import * as v from 'valibot'
import { deadline } from '../shared/deadline.ts'
import { AppError, toError } from '../shared/errors.ts'
import { readBounded } from '../shared/http/read-bounded.ts'
import type { DoctorOptions } from './options.ts'

const REPORT_BYTES_MAX = 4 << 20

const component = v.looseObject({
  status: v.picklist(['ok', 'fail', 'skipped']),
  latency_ms: v.optional(v.number()),
  checks: v.optional(v.array(v.string()), []),
  error: v.optional(v.string()),
  provider: v.optional(v.string()),
  details: v.optional(v.record(v.string(), v.unknown()), {}),
})

const report = v.looseObject({
  status: v.picklist(['ok', 'degraded', 'fail']),
  duration_ms: v.number(),
  environment: v.looseObject({
    platform: v.boolean(),
    auth_provider: v.string(),
    version: v.string(),
  }),
  components: v.record(v.string(), component),
})

/** A diagnostic report of any version of the platform. */
export type DoctorReport = v.InferOutput<typeof report>

/** The answer of an address: a report, or the reason why there is none. */
export type Answer =
  | { readonly url: string; readonly report: DoctorReport; readonly problem?: never }
  | { readonly url: string; readonly problem: string; readonly report?: never }

/** Asks one address for its report. Never raises. */
export async function ask(
  url: string,
  { token, timeoutMs }: Pick<DoctorOptions, 'token' | 'timeoutMs'>,
): Promise<Answer> {
  try {
    const { status, text } = await deadline({ name: url, timeoutMs }, (signal) =>
      get(`${url}/health/debug`, { token, signal }),
    )
    const problem = problemOf(status)
    if (problem) return { url, problem }
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), report), text)
    if (parsed.success) return { url, report: parsed.output }
    return { url, problem: `HTTP ${status} with something that is no diagnostic report.` }
  } catch (thrown) {
    return { url, problem: explain(thrown) }
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

function explain(thrown: unknown): string {
  if (thrown instanceof AppError) return thrown.message
  const error = toError(thrown)
  const cause = error.cause instanceof Error ? error.cause : error
  const code = 'code' in cause ? String(cause.code) : ''
  const text = cause.message || code
  return `Not reachable: ${text.includes(code) ? text : `${text} (${code})`}`
}
