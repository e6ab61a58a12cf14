import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../shared/log.ts'
import type { Admission, Lease } from './admission.ts'
import type { Authorize } from './authorization.ts'
import type { BufferPool } from './buffer-pool.ts'
import type { Health } from './health.ts'
import { CODINGS, inflate } from './inflate.ts'
import type { ContentCoding } from './inflate.ts'
import type { CollectorMetrics } from './metrics.ts'
import { exportResponse } from './otlp/answer.ts'
import type { Encoding } from './otlp/answer.ts'
import { jsonRequestToProtobuf } from './otlp/json-request.ts'
import type { Transcript } from './otlp/transcode.ts'
import { mediaType, overBudget, tooLarge, unauthorized, unavailable } from './refusals.ts'
import { declaredLength, readBody } from './request-body.ts'
import type { GroupCommit, Submission } from './storage/group-commit.ts'

export interface IngestDeps {
  readonly authorize: Authorize
  readonly admission: Admission
  readonly pool: BufferPool
  readonly health: Health
  readonly metrics: CollectorMetrics
  readonly log: Log
  /** Absent until the database is ready. */
  readonly commit: () => GroupCommit | undefined
  readonly maxBodyBytes: number
  /** Submissions not committed by then are answered 503, while their rows stay queued. */
  readonly ackTimeoutMs: number
}

/** A request of the raw HTTP server: the body is read from it without a detour through web streams. */
export interface Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
}

/**
 * Takes one submission: who sends it and whether it can be taken is settled before its body is read; the answer waits
 * for the commit (SPEC 4.6, 5.4). Resolves to the body of the 200 and raises what the error answer is made of.
 */
export async function ingest(
  deps: IngestDeps,
  { incoming, outgoing }: Exchange,
  encoding: Encoding | undefined,
): Promise<Buffer | string> {
  await checkAuthorization(deps, incoming)
  const commit = deps.commit()
  if (!commit) throw unavailable('starting', 'The collector is starting.')
  if (!encoding) throw mediaType('Content-Type must be application/x-protobuf or application/json')
  const coding = contentCoding(incoming)
  const length = declaredLength(incoming) ?? 0
  if (length > deps.maxBodyBytes) throw tooLarge(deps.maxBodyBytes)
  const lease = deps.admission.admit(length)
  if (!lease) throw overBudget()
  // A client that asked first gets its go-ahead only now (RFC 9110 section 10.1.1).
  if (incoming.headers.expect !== undefined) outgoing.writeContinue()
  const submission = await submit(deps, { incoming, encoding, coding, lease, commit })
  const rejected = await committed(submission, deps.ackTimeoutMs)
  const { refused, message } = describe(submission.transcript, rejected)
  return exportResponse(encoding, refused, message)
}

async function checkAuthorization(deps: IngestDeps, incoming: IncomingMessage): Promise<void> {
  const failure = await deps.authorize(incoming.rawHeaders)
  if (!failure) return
  deps.metrics.authFailures.inc({ reason: failure })
  throw unauthorized()
}

function contentCoding({ headers }: IncomingMessage): ContentCoding | undefined {
  const name = (headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (name === 'identity' || name === '') return undefined
  const coding = CODINGS.find((known) => known === name)
  if (!coding) throw mediaType(`Content-Encoding must be identity or one of ${CODINGS.join(', ')}`)
  return coding
}

interface Intake {
  readonly incoming: IncomingMessage
  readonly encoding: Encoding
  readonly coding: ContentCoding | undefined
  readonly lease: Lease
  readonly commit: GroupCommit
}

/** From the bytes on the wire to rows in the queue; the lease is the queue's from then on. */
async function submit(deps: IngestDeps, intake: Intake): Promise<Submission> {
  const { incoming, encoding, coding, lease, commit } = intake
  const limits = { maxBytes: deps.maxBodyBytes, lease, pool: deps.pool }
  try {
    const raw = await readBody(incoming, limits)
    const body = coding ? await inflate(raw, coding, limits) : raw
    const protobuf = encoding === 'json' ? jsonRequestToProtobuf(body) : body
    const submission = commit.submit(protobuf, lease)
    // The rows are copies: what they were made of can serve the next request.
    deps.pool.give(raw)
    if (body !== raw) deps.pool.give(body)
    count(deps.metrics, submission.transcript)
    return submission
  } catch (error) {
    lease.release()
    throw error
  }
}

function count(metrics: CollectorMetrics, transcript: Transcript): void {
  const { spans, refused, duplicateKeys, truncated } = transcript
  metrics.received.inc(spans)
  for (const [reason, spansRefused] of refused) metrics.rejected.inc({ reason }, spansRefused)
  if (duplicateKeys > 0) metrics.duplicateKeys.inc(duplicateKeys)
  if (truncated > 0) metrics.truncatedStrings.inc(truncated)
}

/** How many rows the database refused, once the others are committed. Raises `unavailable` after `timeoutMs`. */
async function committed({ settled }: Submission, timeoutMs: number): Promise<number> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = unavailable('not_committed_in_time', 'The database does not answer; try again.')
    timer = setTimeout(() => reject(error), timeoutMs)
  })
  try {
    return await Promise.race([settled, late])
  } finally {
    clearTimeout(timer)
  }
}

function describe({ refused }: Transcript, rejected: number): { refused: number; message: string } {
  const reasons = [...refused].map(([reason, spans]) => `${spans} ${reason}`)
  if (rejected > 0) reasons.push(`${rejected} refused_by_database`)
  const total = [...refused.values()].reduce((sum, spans) => sum + spans, rejected)
  return { refused: total, message: `Spans were rejected: ${reasons.join(', ')}.` }
}
