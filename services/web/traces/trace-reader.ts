import { deadline } from '../../shared/deadline.ts'
import { AppError } from '../../shared/errors.ts'
import type * as lists from '../../shared/trace-answers/lists.ts'
import type { SpanView } from '../../shared/trace-answers/one-trace.ts'
import { callCollector, COLLECTOR_MS, readText } from '../../shared/collector-call.ts'
import type { CollectorPlace } from '../../shared/collector-call.ts'
import { readSkeleton } from './skeleton.ts'
import type { Skeleton } from './skeleton.ts'
import { readAnswers } from './read-answers.ts'

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
  /** The first spans; without `limit` as many as the collector gives at once. */
  skeleton(traceId: string, limit?: number): Promise<Skeleton>
  span(place: SpanPlace): Promise<SpanView>
  /** The spans in which a text of 1 to 200 characters was found. */
  search(traceId: string, text: string): Promise<FoundSpans>
  /** What is known of many traces; the parameters are those of the collector's read API. */
  list(parameters: URLSearchParams): Promise<lists.TracePage>
  histogram(parameters: URLSearchParams): Promise<lists.TraceHistogram>
  totals(parameters: URLSearchParams): Promise<lists.TraceTotals>
  /** The parameters have `by`. */
  groupedTotals(parameters: URLSearchParams): Promise<lists.GroupedTotals>
  sessions(parameters: URLSearchParams): Promise<lists.SessionPage>
  usage(parameters: URLSearchParams): Promise<lists.TraceUsage>
  /** The answer itself, to hand on as it comes. */
  open(path: string): Promise<Response>
  /**
   * Server-sent events of the traces that change, after the event with this id or from now on. They
   * go on until the signal aborts.
   */
  tail(lastEventId: string | undefined, signal: AbortSignal): Promise<Response>
}

/** The spans in which a text was found. */
interface FoundSpans {
  readonly ids: readonly string[]
  /** False when more of the trace is to be searched, or more was found than is listed. */
  readonly isComplete: boolean
}

/** Creates the reader of an organization, by its id. */
export type OpenTraces = (organizationId: number) => TraceReader

const FOUND_MAX = 200

/** Returns what opens the traces of an organization. */
export function openTraces(collector: CollectorPlace): OpenTraces {
  return (organizationId) => {
    const claims = { organization: String(organizationId), scopes: ['traces:read'] } as const
    const ask = (
      path: string,
      signal: AbortSignal,
      headers: Readonly<Record<string, string>> = {},
    ): Promise<Response> =>
      callCollector(collector, { path, claims, headers, missing: NO_TRACE }, signal)
    const within = <Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> =>
      deadline({ name: 'The trace collector', timeoutMs: COLLECTOR_MS }, work)
    const read = (path: string): Promise<unknown> =>
      within(async (signal) => parse(await readText(await ask(path, signal))))
    return {
      skeleton: async (traceId, limit) => {
        const part = limit === undefined ? '' : `&limit=${limit}`
        return readSkeleton(await read(`/traces/${traceId}?view=skeleton${part}`))
      },
      span: async ({ traceId, spanId }) =>
        readAnswers.span(await read(`/traces/${traceId}/spans/${spanId}`)),
      async search(traceId, text) {
        const query = new URLSearchParams({ q: text, limit: String(FOUND_MAX) })
        const found = readAnswers.search(
          await read(`/traces/${traceId}/search?${query.toString()}`),
        )
        const ids = found.matches.map(({ span_id: id }) => id)
        return { ids, isComplete: found.next_cursor === null }
      },
      list: async (given) => readAnswers.traces(await read(`/traces?${given.toString()}`)),
      histogram: async (given) =>
        readAnswers.histogram(await read(`/traces/histogram?${given.toString()}`)),
      totals: async (given) => readAnswers.totals(await read(`/traces/totals?${given.toString()}`)),
      groupedTotals: async (given) =>
        readAnswers.groupedTotals(await read(`/traces/totals?${given.toString()}`)),
      sessions: async (given) => readAnswers.sessions(await read(`/sessions?${given.toString()}`)),
      usage: async (given) => readAnswers.usage(await read(`/usage?${given.toString()}`)),
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

const NO_TRACE = 'Your organization has no such trace, or it has expired.'

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
