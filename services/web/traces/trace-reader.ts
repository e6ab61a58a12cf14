import * as v from 'valibot'
import { signCollectorToken } from '../../shared/collector-token.ts'
import { deadline } from '../../shared/deadline.ts'
import { AppError, toError } from '../../shared/errors.ts'
import type { ErrorCode } from '../../shared/errors.ts'
import { readSkeleton } from './skeleton.ts'
import type { Skeleton } from './skeleton.ts'
import { readSpanView } from './span-view.ts'
import type { SpanView } from './span-view.ts'
import { readLists } from './trace-lists.ts'
import type { Histogram, SessionPage, Totals, TracePage, Usage } from './trace-lists.ts'

/** The ids of a span; in hexadecimal, as its trace's. */
export interface SpanPlace {
  readonly traceId: string
  readonly spanId: string
}

/**
 * Reads the traces of one organization from the collector, which gives it no others. All raise
 * `not_found`, `invalid_request`, `unavailable` and `timeout` as the collector does.
 */
export interface TraceReader {
  skeleton(traceId: string): Promise<Skeleton>
  span(place: SpanPlace): Promise<SpanView>
  /** The spans in which a text of 1 to 200 characters was found. */
  search(traceId: string, text: string): Promise<FoundSpans>
  /** What is known of many traces; the parameters are those of the collector's read API. */
  list(parameters: URLSearchParams): Promise<TracePage>
  histogram(parameters: URLSearchParams): Promise<Histogram>
  totals(parameters: URLSearchParams): Promise<Totals>
  sessions(parameters: URLSearchParams): Promise<SessionPage>
  usage(parameters: URLSearchParams): Promise<Usage>
  /** The answer itself, to hand on as it comes. */
  open(path: string): Promise<Response>
  /**
   * Server-sent events of the traces that change, after the event with this id or from now on. They
   * go on until the signal aborts.
   */
  tail(lastEventId: string | undefined, signal: AbortSignal): Promise<Response>
}

/** The spans in which a text was found. */
export interface FoundSpans {
  readonly ids: readonly string[]
  /** False when more of the trace is to be searched, or more was found than is listed. */
  readonly isComplete: boolean
}

/** The collector, and the secret that signs tokens for it. */
export interface TraceReaderOptions {
  readonly collectorUrl: string
  readonly secret: string
}

const foundSpans = v.object({
  matches: v.array(v.object({ span_id: v.string() })),
  next_cursor: v.nullable(v.string()),
})

/** Creates the reader of an organization, by its id. */
export type OpenTraces = (organizationId: number) => TraceReader

/** Longer than the collector gives a question. */
const TIMEOUT_MS = 10_000
/** More than a skeleton of 100,000 spans, or the largest span, takes. */
const BYTES_MAX = 64 << 20
const FOUND_MAX = 200

/** Returns what opens the traces of an organization. */
export function openTraces({ collectorUrl, secret }: TraceReaderOptions): OpenTraces {
  return (organizationId) => {
    const ask = async (
      path: string,
      signal: AbortSignal,
      more: Readonly<Record<string, string>> = {},
    ): Promise<Response> => {
      const token = await signCollectorToken(secret, 'web', {
        organization: String(organizationId),
        scopes: ['traces:read'],
      })
      const headers = { ...more, authorization: `Bearer ${token}` }
      const response = await fetch(`${collectorUrl}/api${path}`, {
        headers,
        signal,
        redirect: 'error',
      }).catch((thrown: unknown) => {
        signal.throwIfAborted()
        throw unavailable(toError(thrown))
      })
      if (!response.ok) throw await errorOf(response)
      return response
    }
    const within = <Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> =>
      deadline({ name: 'The trace collector', timeoutMs: TIMEOUT_MS }, work)
    const read = (path: string): Promise<unknown> =>
      within(async (signal) => parse(await readText(await ask(path, signal))))
    return {
      skeleton: async (traceId) => readSkeleton(await read(`/traces/${traceId}?view=skeleton`)),
      span: async ({ traceId, spanId }) =>
        readSpanView(await read(`/traces/${traceId}/spans/${spanId}`)),
      async search(traceId, text) {
        const query = new URLSearchParams({ q: text, limit: String(FOUND_MAX) })
        return readFound(await read(`/traces/${traceId}/search?${query.toString()}`))
      },
      list: async (given) => readLists.traces(await read(`/traces?${given.toString()}`)),
      histogram: async (given) =>
        readLists.histogram(await read(`/traces/histogram?${given.toString()}`)),
      totals: async (given) => readLists.totals(await read(`/traces/totals?${given.toString()}`)),
      sessions: async (given) => readLists.sessions(await read(`/sessions?${given.toString()}`)),
      usage: async (given) => readLists.usage(await read(`/usage?${given.toString()}`)),
      open: (path) => within((signal) => ask(path, signal)),
      tail: (lastEventId, signal) =>
        within((limit) =>
          ask(
            '/tail',
            AbortSignal.any([signal, limit]),
            lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
          ),
        ),
    }
  }
}

function readFound(document: unknown): FoundSpans {
  const found = v.safeParse(foundSpans, document)
  if (!found.success) throw new AppError('bad_gateway', 'The trace collector did not search.')
  const { matches, next_cursor: next } = found.output
  return { ids: matches.map(({ span_id: id }) => id), isComplete: next === null }
}

async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) {
      throw new AppError('bad_gateway', `The collector's answer has more than ${BYTES_MAX} bytes.`)
    }
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new AppError(
      'bad_gateway',
      'The trace collector answered with something that is no JSON.',
    )
  }
}

/** What readers can do something about stays as it is; anything else is a matter of operators. */
const PASSED_ON: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  503: 'unavailable',
  504: 'timeout',
}

async function errorOf(response: Response): Promise<AppError> {
  const { status } = response
  if (status === 404) {
    return new AppError('not_found', 'Your organization has no such trace, or it has expired.')
  }
  const { message, details } = await problemOf(response)
  const code = PASSED_ON[status]
  if (code) return new AppError(code, message, { details })
  return new AppError('bad_gateway', `The trace collector answered ${status}. ${message}`)
}

const problem = v.object({
  message: v.optional(v.string(), ''),
  details: v.optional(v.record(v.string(), v.unknown()), {}),
})

async function problemOf(response: Response): Promise<v.InferOutput<typeof problem>> {
  const text = await readText(response).catch(() => '')
  const read = v.safeParse(v.pipe(v.string(), v.parseJson(), problem), text)
  return read.success ? read.output : { message: '', details: {} }
}

const unavailable = (cause: Error): AppError =>
  new AppError('unavailable', 'The trace collector does not answer. Platform health has more.', {
    cause,
  })
