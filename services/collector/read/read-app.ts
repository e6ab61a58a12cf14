import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import type { Context } from 'hono'
import { AppError, toAppError, toError } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { problemResponse } from '../../shared/http/problem.ts'
import type { Eraser } from '../store/erasures/erase-trace.ts'
import { addErasing } from './erase-routes.ts'
import { addRevocation } from './revoke-route.ts'
import type { Revoker } from '../tokens/revoker.ts'
import type { OwnPrices } from '../store/own-prices.ts'
import { addOwnPrices } from './prices-route.ts'
import { admitRead } from './admit-read.ts'
import type { AdmitDeps, ReadEnv } from './admit-read.ts'
import type { AnswerReader } from './answer-readers.ts'
import { addListRoutes, LIST_PATHS } from './lists/list-routes.ts'
import { readSearch, readSpanId, readTraceId, readView, requireNoParameters } from './read-query.ts'
import type { Price } from '../../shared/prices/price-table.ts'
import { pricedSpans } from './priced-spans.ts'
import { readSpanView } from './span-view.ts'
import type { Forwarding } from '../store/forwarding.ts'
import { addForwarding } from './forward-routes.ts'
import { addExport } from './export-route.ts'
import { addTail } from './tail-route.ts'
import { toByteStream } from '../../shared/http/byte-stream.ts'
import { readSkeleton } from './trace-skeleton.ts'
import type { Skeleton, SkeletonQuery } from './trace-skeleton.ts'
import { openTraceDocument, readSmallDocument, traceNotFound } from './trace-document.ts'
import type { DocumentLimits } from './trace-document.ts'
import { searchTrace } from './trace-search.ts'
import { summarizeTrace } from './trace-summary.ts'

/** The parts of the read API. */
export interface ReadDeps extends AdmitDeps {
  readonly log: Log
  readonly eraser: Eraser
  /** Models' prices, for the calls whose sender tells no cost. */
  readonly prices: readonly Price[]
  readonly ownPrices: Pick<OwnPrices, 'replace'>
  readonly forwarding: Pick<Forwarding, 'declare'>
  readonly revoker: Revoker
  /** True once the collector stops: long answers end then. */
  readonly isDraining: () => boolean
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
  const source = pricedSpans(deps.prices)
  addListRoutes(app)
  app.get('/traces/:id', async (c) => {
    const traceId = readTraceId(c.req.param('id'))
    const query = readView(parametersOf(c))
    c.set('view', query.view)
    await warm(c.var.reader, traceId)
    if (query.view === 'otlp') return streamTrace(deps, c, traceId)
    if (query.view === 'skeleton')
      return sendSkeleton(deps, c, { query: { ...query, traceId }, source })
    const summary = await summarizeTrace(c.var.reader, traceId)
    if (!summary) throw traceNotFound(traceId)
    return c.json(summary, 200, NO_STORE)
  })
  app.get('/traces/:id/spans/:span', async (c) => {
    c.set('view', 'span')
    const traceId = readTraceId(c.req.param('id'))
    const spanId = readSpanId(c.req.param('span'))
    requireNoParameters(parametersOf(c))
    await warm(c.var.reader, traceId)
    const view = await c.var.reader.ask((sql) => readSpanView(sql, { traceId, spanId }, source))
    return c.json(view, 200, NO_STORE)
  })
  app.get('/traces/:id/search', async (c) => {
    c.set('view', 'search')
    const traceId = readTraceId(c.req.param('id'))
    const query = { ...readSearch(parametersOf(c)), traceId }
    await warm(c.var.reader, traceId)
    return c.json(await searchTrace(c.var.reader, query), 200, NO_STORE)
  })
  addErasing(app, deps)
  const { log, isDraining } = deps
  const long = { isDraining, logFailure: (thrown: unknown) => logFailure(log, thrown) }
  addExport(app, long)
  addTail(app, long)
  addRevocation(app, deps)
  addOwnPrices(app, deps)
  addForwarding(app, deps)
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

/** Brings the spans of a trace back where they are archived. */
const warm = async (reader: AnswerReader, traceId: string): Promise<void> => {
  const { cold, organization } = reader
  if (cold) await reader.ask((sql) => cold.warm(sql, [{ organization, traceId }]))
}

const PLACES =
  `There is nothing here; there are ${LIST_PATHS.map((path) => `/api${path}`).join(', ')}, ` +
  '/api/traces/<trace id>, /api/traces/<trace id>/search, ' +
  '/api/traces/<trace id>/spans/<span id>, /api/traces/measures, /api/export, /api/tail, ' +
  '/api/prices, /api/mentions, /api/forwarding, /api/holds/<id> and /api/revoked-tokens/<id>.'

const methodNotAllowed = (): AppError =>
  new AppError(
    'method_not_allowed',
    'Only GET is allowed, DELETE for a trace, POST for measures, POST and DELETE for mentions, ' +
      'PUT and DELETE for a hold, and PUT for prices, forwarding and a revoked token.',
    {
      headers: { allow: 'GET' },
    },
  )

const parametersOf = (c: Context): URLSearchParams => new URL(c.req.url).searchParams

/**
 * Once the first byte is out, a failure can only cut the answer off, which leaves JSON that does
 * not parse.
 */
async function streamTrace(
  deps: ReadDeps,
  c: Context<ReadEnv>,
  traceId: string,
): Promise<Response> {
  const { lastingReader: reader } = c.var
  const { documentLimits: limits } = deps
  const small = await readSmallDocument(reader, traceId, limits)
  if (small !== undefined)
    return sendPieces(deps, c, { pieces: [Buffer.from(small)], isTruncated: false })
  const { parts, isTruncated } = await openTraceDocument(reader, traceId, limits)
  return stream(deps, c, { parts, headers: headersOf({ isTruncated }) })
}

const headersOf = ({ isTruncated }: { isTruncated: boolean }): Record<string, string> => ({
  ...NO_STORE,
  'content-type': 'application/json',
  'trace-truncated': String(isTruncated),
})

/** The whole answer is in memory: a caller who reads slowly holds no connection to the database. */
async function sendSkeleton(
  deps: ReadDeps,
  c: Context<ReadEnv>,
  { query, source }: { query: SkeletonQuery; source: string },
): Promise<Response> {
  return sendPieces(deps, c, await readSkeleton(c.var.reader, query, { source }))
}

/** Up to this an answer goes out with its head; the time to read a larger one is limited. */
const SMALL_BYTES = 1 << 18

function sendPieces(
  deps: ReadDeps,
  c: Context<ReadEnv>,
  { pieces, isTruncated }: Skeleton,
): Response {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const headers = headersOf({ isTruncated })
  if (length <= SMALL_BYTES) return c.body(Buffer.concat(pieces), 200, headers)
  headers['content-length'] = String(length)
  return stream(deps, c, { parts: oneByOne(pieces), headers })
}

async function* oneByOne<Part>(parts: Iterable<Part>): AsyncGenerator<Part, void, undefined> {
  yield* parts
}

interface Answer {
  readonly parts: AsyncGenerator<string | Uint8Array, void, undefined>
  readonly headers: Readonly<Record<string, string>>
}

function stream(
  { log, streamTimeoutMs: timeoutMs = STREAM_MS }: ReadDeps,
  c: Context<ReadEnv>,
  { parts, headers }: Answer,
): Response {
  const onEnd = (failure?: Error): void => {
    c.var.finish(failure ? 500 : 200)
    if (failure) logFailure(log, failure)
  }
  c.set('isStreaming', true)
  return c.body(toByteStream(parts, { timeoutMs, onEnd }), 200, headers)
}

/** Only message and stack: an error object may carry what was read. */
function logFailure(log: Log, thrown: unknown): void {
  const { message, stack } = toError(thrown)
  log.error({ message, stack }, 'reading a trace failed')
}
