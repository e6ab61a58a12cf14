import * as v from 'valibot'
import { deadline } from '../../shared/deadline.ts'
import { AppError } from '../../shared/errors.ts'
import { callCollector, COLLECTOR_MS, readText } from './collector-call.ts'
import type { CollectorPlace } from './collector-call.ts'
import { readSkeleton } from './skeleton.ts'
import type { Skeleton } from './skeleton.ts'
import { readSpanView } from './span-view.ts'
import type { SpanView } from './span-view.ts'
import { readLists } from './trace-lists.ts'
import type {
  GroupedTotals,
  Histogram,
  SessionPage,
  Totals,
  TracePage,
  Usage,
} from './trace-lists.ts'

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
  /** The parameters have `by`. */
  groupedTotals(parameters: URLSearchParams): Promise<GroupedTotals>
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

const foundSpans = v.object({
  matches: v.array(v.object({ span_id: v.string() })),
  next_cursor: v.nullable(v.string()),
})

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
      groupedTotals: async (given) =>
        readLists.groupedTotals(await read(`/traces/totals?${given.toString()}`)),
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

const NO_TRACE = 'Your organization has no such trace, or it has expired.'

function readFound(document: unknown): FoundSpans {
  const found = v.safeParse(foundSpans, document)
  if (!found.success) throw new AppError('bad_gateway', 'The trace collector did not search.')
  const { matches, next_cursor: next } = found.output
  return { ids: matches.map(({ span_id: id }) => id), isComplete: next === null }
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
