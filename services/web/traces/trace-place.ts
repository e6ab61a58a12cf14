import type { Context } from 'hono'
import { AppError } from '../../shared/errors.ts'
import type { SpanPlace } from './trace-reader.ts'

const TRACE_ID = /^[0-9a-f]{32}$/
const SPAN_ID = /^[0-9a-f]{16}$/

/** Returns a trace id in its usual form, from one with dashes or capitals; undefined for others. */
export function traceIdOf(text: string): string | undefined {
  const id = text.toLowerCase().replaceAll('-', '')
  return TRACE_ID.test(id) ? id : undefined
}

/** The id of the trace in an address. Raises `not_found` for what is none. */
export function getTraceId(c: Context): string {
  const id = traceIdOf(c.req.param('traceId') ?? '')
  if (id !== undefined) return id
  throw new AppError(
    'not_found',
    'There is no such page. A trace is at /traces/ and its id, which has 32 hexadecimal digits; ' +
      'the list is at /traces, and what all traces used at /usage.',
  )
}

/** Returns a span id; undefined for what is none. */
export const spanIdOf = (text: string): string | undefined =>
  SPAN_ID.test(text.toLowerCase()) ? text.toLowerCase() : undefined

/** The ids of the span in an address. Raises `not_found` for what is none. */
export function getSpanPlace(c: Context): SpanPlace {
  const spanId = spanIdOf(c.req.param('spanId') ?? '')
  if (spanId !== undefined) return { traceId: getTraceId(c), spanId }
  throw new AppError('not_found', 'A span id has 16 hexadecimal digits.')
}
