import { regionProblem } from '../../platform/connections/regions.ts'
import {
  releaseForward,
  renewForward,
  settleForwarded,
  settleRefusedForward,
  shrinkForward,
} from '../../platform/traces/forward-queue.ts'
import type { DueForward, ForwardLease } from '../../platform/traces/forward-queue.ts'
import { backoffMs } from '../../shared/backoff.ts'
import type { Database } from '../../shared/postgres/database.ts'
import type { LoopSignals } from '../run/loop.ts'
import { retryStatement } from '../run/retry-statement.ts'
import type { CommittedSpans, SpanPage } from './collector-spans.ts'
import { postSpans } from './post-spans.ts'
import type { PostDeps } from './post-spans.ts'

/** Then the forward waits for its next turn, behind others. */
const PAGES_PER_TURN = 20
/** After so many failures, some minutes, one that cannot succeed pauses it. */
const REFUSALS_MAX = 6
const STORE_MS = 60_000
const BACKOFF = { firstMs: 5000, maxMs: 600_000 }

/** The means to forward. */
export interface ForwardDeps extends PostDeps {
  readonly sql: Database
  readonly spans: CommittedSpans
  /** Longer than a page takes. */
  readonly leaseSeconds: number
  /** When to look again once nothing is left. */
  readonly idleSeconds: number
  /** The wait after a try that failed. @default 5 s, then longer, up to 10 minutes */
  readonly backoff?: { readonly firstMs: number; readonly maxMs: number } | undefined
  readonly onForwarded: (spans: { readonly accepted: number; readonly rejected: number }) => void
}

/**
 * Forwards what was committed, page after page, each after the one before was accepted. What is on
 * its way when the process stops, or whose answer is lost, is sent again.
 */
export async function forwardSpans(
  deps: ForwardDeps,
  lease: ForwardLease,
  { pause, drain }: LoopSignals,
): Promise<void> {
  const { sql, idleSeconds, leaseSeconds } = deps
  const store = <Result>(statement: () => Promise<Result>): Promise<Result> =>
    retryStatement(statement, { forMs: STORE_MS, signal: drain })
  let step: Step = 'more'
  for (let pages = 0; pages < PAGES_PER_TURN && step === 'more' && !pause.aborted; pages += 1) {
    const forward = await store(() => renewForward(sql, lease, leaseSeconds))
    if (!forward) return
    step = await forwardPage(deps, { forward, lease, store }, drain)
  }
  if (step === 'failed') return
  await store(() => releaseForward(sql, lease, step === 'done' ? idleSeconds : 0))
}

type Step = 'more' | 'done' | 'failed'

interface Held {
  readonly forward: DueForward
  readonly lease: ForwardLease
  readonly store: <Result>(statement: () => Promise<Result>) => Promise<Result>
}

async function forwardPage(deps: ForwardDeps, held: Held, signal: AbortSignal): Promise<Step> {
  const { forward } = held
  const outside = regionProblem(forward.allowedRegions, forward)
  if (outside !== undefined) {
    return fail(deps, held, { problem: `Not sent: its region ${outside}.`, isFinal: true })
  }
  const { organizationId, cursor: after, share, services, spansMax: spans } = forward
  const page = await deps.spans.read({ organizationId, after, share, services, spans }, signal)
  if (page.body.length === 0) return settle(deps, held, { page, ...NOTHING })
  const outcome = await postSpans(deps, { forward, body: page.body }, signal)
  if (outcome.is === 'accepted') return settle(deps, held, { page, ...outcome })
  if (outcome.is === 'too-large') return shrink(deps, held, page)
  const isFinal = outcome.is === 'refused' && forward.tries >= REFUSALS_MAX
  return fail(deps, held, { ...outcome, isFinal, page })
}

const NOTHING = { rejected: 0, problem: null }

interface Taken {
  readonly page: SpanPage
  readonly rejected: number
  readonly problem: string | null
}

async function settle(
  { sql, onForwarded }: ForwardDeps,
  { lease, store }: Held,
  { page, rejected: said, problem }: Taken,
): Promise<Step> {
  const { cursor, hasMore, notedAt } = page
  const rejected = Math.min(said, page.spans)
  const accepted = page.body.length === 0 ? 0 : page.spans - rejected
  const waitingSince = hasMore ? notedAt : null
  await store(() =>
    settleForwarded(sql, lease, { cursor, accepted, rejected, problem, waitingSince }),
  )
  onForwarded({ accepted, rejected })
  return hasMore ? 'more' : 'done'
}

/** A span that is too large alone is left out; else nothing behind it would ever be sent. */
async function shrink(deps: ForwardDeps, held: Held, page: SpanPage): Promise<Step> {
  if (page.spans === 1) {
    const problem = 'The receiver answered HTTP 413: a span is too large for it, and is left out.'
    return settle(deps, held, { page, rejected: 1, problem })
  }
  const { lease, store } = held
  await store(() => shrinkForward(deps.sql, lease, Math.max(1, Math.floor(page.spans / 2))))
  return 'more'
}

interface Failure {
  readonly problem: string
  /** Nothing will be accepted until a person changes something. */
  readonly isFinal: boolean
  readonly retryAfterSeconds?: number
  readonly page?: SpanPage
}

async function fail(
  { sql, backoff = BACKOFF }: ForwardDeps,
  { forward, lease, store }: Held,
  { problem, isFinal, retryAfterSeconds = 0, page }: Failure,
): Promise<Step> {
  const delaySeconds = Math.max(retryAfterSeconds, backoffMs(forward.tries + 1, backoff) / 1000)
  const pausedFor = isFinal ? problem : undefined
  const refused = { problem, waitingSince: page?.notedAt ?? null, delaySeconds, pausedFor }
  await store(() => settleRefusedForward(sql, lease, refused))
  return 'failed'
}
