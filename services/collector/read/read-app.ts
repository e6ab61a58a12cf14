import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import type { Context } from 'hono'
import { AppError, toAppError, toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { problemResponse } from '../../shared/http/problem.ts'
import { admitRead } from './admit-read.ts'
import type { AdmitDeps, ReadEnv } from './admit-read.ts'
import { addListRoutes, LIST_PATHS } from './lists/list-routes.ts'
import { readSpanId, readTraceId, readView, requireNoParameters } from './read-query.ts'
import { readSpanView } from './span-view.ts'
import { toByteStream } from './byte-stream.ts'
import { openTraceDocument, traceNotFound } from './trace-document.ts'
import type { DocumentLimits } from './trace-document.ts'
import { summarizeTrace } from './trace-summary.ts'

/** The parts of the read API. */
export interface ReadDeps extends AdmitDeps {
  readonly log: Log
  /** The time that a caller may take to read one trace. @default 60_000 */
  readonly streamTimeoutMs?: number
  readonly documentLimits?: DocumentLimits
}

const STREAM_MS = 60_000
const NO_STORE = { 'cache-control': 'no-store' }

/** Reading traces back, for trace pages and people. */
export function createReadApp(deps: ReadDeps): Hono<ReadEnv> {
  const app = new Hono<ReadEnv>()
  app.use(admitRead(deps))
  addListRoutes(app)
  app.get('/traces/:id', async (c) => {
    const traceId = readTraceId(c.req.param('id'))
    const view = readView(parametersOf(c))
    c.set('view', view)
    if (view === 'otlp') return streamTrace(deps, c, traceId)
    const summary = await c.var.reader.ask((sql) => summarizeTrace(sql, traceId))
    if (!summary) throw traceNotFound(traceId)
    return c.json(summary, 200, NO_STORE)
  })
  app.get('/traces/:id/spans/:span', async (c) => {
    c.set('view', 'span')
    const traceId = readTraceId(c.req.param('id'))
    const spanId = readSpanId(c.req.param('span'))
    requireNoParameters(parametersOf(c))
    const view = await c.var.reader.ask((sql) => readSpanView(sql, { traceId, spanId }))
    return c.json(view, 200, NO_STORE)
  })
  app.all('*', (c) => {
    throw c.req.method === 'GET' ? new AppError('not_found', PLACES) : methodNotAllowed()
  })
  app.onError((thrown, c) => {
    const error = toAppError(thrown)
    if (error.code === 'internal') logFailure(deps.log, thrown)
    return problemResponse(error, c.var.requestId ?? randomUUID())
  })
  return app
}

const PLACES =
  `There is nothing here; there are ${LIST_PATHS.map((path) => `/api${path}`).join(', ')}, ` +
  '/api/traces/<trace id> and /api/traces/<trace id>/spans/<span id>.'

const methodNotAllowed = (): AppError =>
  new AppError('method_not_allowed', 'Only GET is allowed.', { headers: { allow: 'GET' } })

const parametersOf = (c: Context): URLSearchParams => new URL(c.req.url).searchParams

/**
 * Once the first byte is out, a failure can only cut the answer off, which leaves JSON that does
 * not parse.
 */
async function streamTrace(
  { log, streamTimeoutMs: timeoutMs = STREAM_MS, documentLimits }: ReadDeps,
  c: Context<ReadEnv>,
  traceId: string,
): Promise<Response> {
  const { parts, isTruncated } = await openTraceDocument(c.var.reader, traceId, documentLimits)
  const onEnd = (failure?: Error): void => {
    c.var.finish(failure ? 500 : 200)
    if (failure) logFailure(log, failure)
  }
  c.set('isStreaming', true)
  return c.body(toByteStream(parts, { timeoutMs, onEnd }), 200, {
    ...NO_STORE,
    'content-type': 'application/json',
    'trace-truncated': String(isTruncated),
  })
}

/** Only message and stack: an error object may carry what was read. */
function logFailure(log: Log, thrown: unknown): void {
  const { message, stack } = toError(thrown)
  log.error({ message, stack }, 'reading a trace failed')
}
