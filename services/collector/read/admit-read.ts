import { randomUUID } from 'node:crypto'
import type { HttpBindings } from '@hono/node-server'
import type { MiddlewareHandler } from 'hono'
import type { CollectorScope } from '../../shared/collector-token.ts'
import { AppError, toAppError } from '../../shared/errors.ts'
import type { Authorize } from '../tokens/authorization.ts'
import type { CollectorMetrics } from '../observability/metrics.ts'
import { refusedToken } from '../otlp/refusals.ts'
import type { Grant } from '../tokens/grant.ts'
import type { ReadMetrics, ReadView } from './read-metrics.ts'
import { readOrganization } from './read-query.ts'
import type { AnswerReader, AnswerReaders } from './answer-readers.ts'
import { deadline } from '../../shared/deadline.ts'

/** The parts that admit readers. */
export interface AdmitDeps {
  readonly authorize: Authorize
  readonly readers: Pick<AnswerReaders, 'for'>
  readonly metrics: CollectorMetrics
  readonly readMetrics: ReadMetrics
  /** False until the schema is there. */
  readonly isReady: () => boolean
  /** Answers under way at a time. @default 8 */
  readonly maxReads?: number
}

/** The variables of a request to the read API. */
export interface ReadEnv {
  Bindings: HttpBindings
  Variables: {
    requestId: string
    grant: Grant
    /** Sees what the token allows and the question names, for as long as an answer may take. */
    reader: AnswerReader
    /** Likewise, for an answer that lasts: the limit is for each question. */
    lastingReader: AnswerReader
    view: ReadView
    /** Set by a handler whose answer goes on after it returned, and who calls `finish` then. */
    isStreaming: boolean
    finish: (code: number) => void
  }
}

const MAX_READS = 8
/** An answer that takes longer is a 504, unless its first byte is out. */
const ANSWER_MS = 5000

/** What a token has to allow for a method, and for the place where there are several. */
function scopeOf(method: string, path: string): CollectorScope {
  if (path.includes('/holds/')) return 'holds:write'
  if (method === 'DELETE') return 'traces:delete'
  if (method !== 'PUT') return 'traces:read'
  if (path.endsWith('/forwarding')) return 'forwards:write'
  return path.endsWith('/prices') ? 'prices:write' : 'tokens:revoke'
}

/**
 * Lets a question in: the token first, then whether there is room. Measures each answer to its last
 * byte.
 */
export function admitRead(deps: AdmitDeps): MiddlewareHandler<ReadEnv> {
  const { authorize, readers, metrics, readMetrics, isReady, maxReads = MAX_READS } = deps
  let open = 0
  return async function admit(c, next) {
    c.set('requestId', randomUUID())
    const scope = scopeOf(c.req.method, c.req.path)
    const outcome = await authorize(c.env.incoming.rawHeaders, scope)
    if ('failure' in outcome) {
      metrics.authFailures.inc({ reason: outcome.failure })
      throw refusedToken(outcome.failure, scope)
    }
    c.set('grant', outcome.grant)
    const parameters = new URL(c.req.url).searchParams
    const reader = readers.for(readOrganization(parameters, outcome.grant.organization))
    c.set('lastingReader', reader)
    c.set('reader', withinTime(reader, ANSWER_MS))
    if (!isReady()) throw tryAgain('The collector is starting; try again.')
    if (open >= maxReads) throw tryAgain('Too many traces are being read; try again.')
    open++
    const started = performance.now()
    c.set('view', 'none')
    c.set('isStreaming', false)
    c.set('finish', (code) => {
      open--
      const seconds = (performance.now() - started) / 1000
      readMetrics.observe({ view: c.var.view, code: String(code) }, seconds)
    })
    await next()
    const lagMs = c.var.reader.lagMs()
    if (lagMs !== undefined) c.header('trace-lag-ms', String(lagMs))
    if (!c.var.isStreaming) c.var.finish(c.res.status)
  }
}

const tryAgain = (message: string): AppError =>
  new AppError('unavailable', message, { headers: { 'retry-after': '1' } })

/**
 * Questions of one answer that together may take so long. Raises `timeout` after that, whatever the
 * database does.
 */
export function withinTime(reader: AnswerReader, totalMs: number): AnswerReader {
  const ends = performance.now() + totalMs
  const limit = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const timeoutMs = Math.max(0, ends - performance.now())
    try {
      return await deadline({ name: 'The trace database', timeoutMs }, work)
    } catch (thrown) {
      if (toAppError(thrown).code !== 'timeout') throw thrown
      const message = `The answer takes more than ${totalMs} ms; narrow the question.`
      throw new AppError('timeout', message, { cause: thrown })
    }
  }
  return {
    organization: reader.organization,
    cold: reader.cold,
    lagMs: () => reader.lagMs(),
    ask: (question) => limit(() => reader.ask(question)),
    askOnce: (statement) => limit(() => reader.askOnce(statement)),
    copyOut: (statement, onRow) => limit(() => reader.copyOut(statement, onRow)),
  }
}
