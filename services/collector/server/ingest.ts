import type { Log } from '../../shared/log.ts'
import type { WithinLimit } from './ack-limit.ts'
import type { Admit, Ticket } from './admission.ts'
import type { Authorize, AuthFailure } from '../tokens/authorization.ts'
import type { Clock } from '../store/clock.ts'
import type { Health } from '../store/health.ts'
import type { ContentCoding, Inflate } from './inflate.ts'
import { lend } from '../otlp/memory.ts'
import type { Memory } from '../otlp/memory.ts'
import type { CollectorMetrics } from '../observability/metrics.ts'
import { exportResponse } from '../otlp/answer.ts'
import type { Encoding } from '../otlp/answer.ts'
import { MAX_ATTRIBUTES, MAX_ITEMS, MAX_STRING_BYTES } from '../otlp/limits.ts'
import type { Transcript } from '../otlp/transcode.ts'
import {
  clockSkew,
  overBudget,
  refusedToken,
  starting,
  storageFull,
  tooLarge,
  unavailable,
} from '../otlp/refusals.ts'
import { FIRST_BYTES } from './request-body.ts'
import type { ReadLimits } from './request-body.ts'
import type { GroupCommit, Submission } from '../store/spans/group-commit.ts'
import type { Grant } from '../tokens/grant.ts'

/** The parts that a submission passes through. */
export interface IngestDeps {
  readonly authorize: Authorize
  readonly admit: Admit
  readonly inflate: Inflate
  readonly memory: Memory
  readonly health: Health
  readonly metrics: CollectorMetrics
  readonly log: Log
  readonly clock: Clock
  /** Absent until the database is ready. */
  readonly commit: () => GroupCommit | undefined
  readonly maxBodyBytes: number
  /** Submissions not committed by then are answered 503, while their rows stay queued. */
  readonly withinAckTime: WithinLimit
  /** A body of which nothing comes for so long is given up. */
  readonly bodyIdleMs: number
}

/** The form of a body, which says how much memory it needs. */
export interface Content {
  readonly encoding: Encoding
  readonly coding: ContentCoding | undefined
  /** Bytes on the wire; undefined when they are not known before the body ends. */
  readonly length: number | undefined
}

/** A submission as its transport hands it in. */
export interface Delivery {
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[]
  /** Called once the sender is known. Raises when the body cannot be read. */
  describe(): Content | Promise<Content>
  /** Reads the body into `place`, or into larger memory in its stead, as `readBody` does. */
  read(place: Buffer, limits: ReadLimits): Buffer | Promise<Buffer>
}

/**
 * Takes one submission: who sends it and whether it can be taken is settled before its body is
 * read; the answer waits for the commit (SPEC 4.6, 5.4). Resolves to the response message and
 * raises what the error answer is made of.
 */
export async function ingest(deps: IngestDeps, delivery: Delivery): Promise<Buffer | string> {
  const started = performance.now()
  const grant = await checkAuthorization(deps, delivery.rawHeaders)
  const commit = deps.commit()
  if (!commit) throw starting()
  if (deps.health.isFull()) throw storageFull()
  const described = delivery.describe()
  const content = described instanceof Promise ? await described : described
  const ticket = admit(deps, content)
  const submission = await submit(deps, { delivery, content, ticket, commit, grant })
  if (deps.clock.isSkewed() && isRefusedByTime(submission.transcript)) throw clockSkew()
  const rejected = await deps.withinAckTime(submission.settled, () =>
    unavailable('not_committed_in_time', 'The database does not answer; try again.'),
  )
  noteAcknowledged(deps, started)
  const { refused, message } = describe(submission.transcript, rejected)
  return exportResponse(content.encoding, refused, message)
}

function noteAcknowledged({ metrics, log }: IngestDeps, started: number): void {
  const seconds = (performance.now() - started) / 1000
  metrics.ackSeconds.observe(seconds)
  log.debug({ duration_ms: Math.round(seconds * 1000) }, 'committed')
}

/**
 * Whether a clock has decided over some of the spans. Which one is wrong is for people to find out.
 */
const isRefusedByTime = ({ refused }: Transcript): boolean =>
  refused.has('too_old') || refused.has('too_far_in_future')

const SCOPE = 'traces:write'

async function checkAuthorization(deps: IngestDeps, rawHeaders: readonly string[]): Promise<Grant> {
  const outcome = await deps.authorize(rawHeaders, SCOPE)
  if ('grant' in outcome) return outcome.grant
  const { failure } = outcome
  // Until PostgreSQL was asked, only the pod's clock says so.
  if (failure === 'expired' && !deps.commit()) throw starting()
  throw refuseToken(deps, failure)
}

function refuseToken({ metrics }: IngestDeps, failure: AuthFailure): Error {
  metrics.authFailures.inc({ reason: failure })
  return refusedToken(failure, SCOPE)
}

/** Holds the memory that a body needs. Raises when it is too large, or does not fit. */
function admit({ admit: tryAdmit, maxBodyBytes: maxBytes }: IngestDeps, content: Content): Ticket {
  const { encoding, coding, length = FIRST_BYTES } = content
  if (length > maxBytes) throw tooLarge(maxBytes)
  const workspace = workspaceOf({ length, encoding, coding, maxBytes })
  const ticket = tryAdmit({ body: length, workspace })
  if (!ticket) throw overBudget()
  return ticket
}

/**
 * What a body inflates to, its rows, and its protobuf when it is JSON; as usual multiples of the
 * body.
 */
const INFLATED = 4
const ROWS = 1.5
const REWRITTEN = 1

interface Shape extends Content {
  readonly length: number
  readonly maxBytes: number
}

/**
 * Bytes that a body needs beside itself until it is rows; what was compressed goes once it is
 * inflated.
 */
function workspaceOf({ length, encoding, coding, maxBytes }: Shape): number {
  const content = coding ? Math.min(maxBytes, length * INFLATED) : length
  const work = content * (ROWS + (encoding === 'json' ? REWRITTEN : 0))
  return coding ? Math.max(content, content + work - length) : work
}

interface Intake {
  readonly delivery: Delivery
  readonly content: Content
  readonly ticket: Ticket
  readonly commit: GroupCommit
  readonly grant: Grant
}

/** From the bytes on the wire to rows in the queue. */
async function submit(deps: IngestDeps, intake: Intake): Promise<Submission> {
  const { memory, metrics } = deps
  const { ticket } = intake
  try {
    // The rows are copies: what they were made of can serve the next request.
    const body = await receive(deps, intake)
    const submission = lend(memory, body, () => enqueue(deps, intake, body))
    count(metrics, submission.transcript)
    return submission
  } finally {
    ticket.done()
  }
}

/** The token may have been revoked while the body came. */
function enqueue(deps: IngestDeps, intake: Intake, body: Buffer): Submission {
  const { commit, content, grant } = intake
  if (grant.isRevoked()) throw refuseToken(deps, 'revoked')
  return commit.submit(body, { encoding: content.encoding, organization: grant.organization })
}

/** The body as it was before its sender compressed it. */
async function receive(
  { memory, inflate, maxBodyBytes, bodyIdleMs }: IngestDeps,
  { delivery, content, ticket }: Intake,
): Promise<Buffer> {
  const { coding } = content
  const limits = { maxBytes: maxBodyBytes, memory }
  const read = delivery.read(ticket.body, { ...limits, idleMs: bodyIdleMs })
  const raw = read instanceof Promise ? await read : read
  if (!coding) return raw
  try {
    return await inflate(raw, coding, limits)
  } finally {
    memory.give(raw)
  }
}

function count(metrics: CollectorMetrics, transcript: Transcript): void {
  const { spans, refused, duplicateKeys, truncated, droppedAttributes, droppedItems } = transcript
  metrics.received.inc(spans)
  for (const [kind, marks] of transcript.redacted) metrics.redacted.inc({ kind }, marks)
  for (const [reason, spansRefused] of refused) metrics.rejected.inc({ reason }, spansRefused)
  if (duplicateKeys > 0) metrics.duplicateKeys.inc(duplicateKeys)
  if (truncated > 0) metrics.truncatedStrings.inc(truncated)
  if (droppedAttributes > 0) metrics.droppedItems.inc({ kind: 'attributes' }, droppedAttributes)
  if (droppedItems > 0) metrics.droppedItems.inc({ kind: 'events_and_links' }, droppedItems)
}

const AS_SENT = { refused: 0, message: '' }

/**
 * What the sender is told of spans that are not stored, or not as they were; nothing when all is as
 * it was.
 */
function describe(transcript: Transcript, rejected: number): { refused: number; message: string } {
  const { refused, truncated, droppedAttributes, droppedItems } = transcript
  // Of nearly every submission all is stored as it came.
  if (rejected + refused.size + truncated + droppedAttributes + droppedItems === 0) return AS_SENT
  const reasons = [...refused].map(([reason, spans]) => `${spans} ${reason}`)
  if (rejected > 0) reasons.push(`${rejected} refused_by_database`)
  const cuts = [
    truncated > 0 && `${truncated} values at ${MAX_STRING_BYTES} bytes`,
    droppedAttributes > 0 && `${droppedAttributes} attributes beyond ${MAX_ATTRIBUTES} of a span`,
    droppedItems > 0 && `${droppedItems} events or links beyond ${MAX_ITEMS} of a span`,
  ].filter((cut) => cut !== false)
  const parts = [
    ...(reasons.length > 0 ? [`Spans were rejected: ${reasons.join(', ')}.`] : []),
    ...(cuts.length > 0 ? [`Spans are stored, but were cut: ${cuts.join(', ')}.`] : []),
  ]
  const total = [...refused.values()].reduce((sum, spans) => sum + spans, rejected)
  return { refused: total, message: parts.join(' ') }
}
