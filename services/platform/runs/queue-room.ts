import { AppError } from '../../shared/errors.ts'
import { inTransaction } from '../../shared/postgres/database.ts'
import type { Queryable, Transaction } from '../../shared/postgres/database.ts'

/**
 * While a queue is shorter than the half of its limit, each process lets a twentieth of the limit
 * in before it looks again, for a second at the most: ten of them together do not fill the other
 * half.
 */
const LOOSE_MS = 1000
const LOOSE_SHARE = 20
/** Under shorter limits each kickoff looks. */
const LOOSE_FROM = 2000
const BATCHED_MAX = 5000
const ORGANIZATIONS_MAX = 10_000
const LOCK = 7_310_452
const RETRY_AFTER_SECONDS = '10'

/** Lets a new run into the queue of one organization. Raises `queue_full`. */
export type AdmitRun = (
  sql: Queryable,
  insert: (sql: Queryable) => Promise<string>,
) => Promise<string>

/** Keeps the queue of each organization within its limit. */
export interface QueueRoom {
  of(organizationId: number): AdmitRun
  /**
   * Returns how many runs a batch may queue until the transaction ends. Batches keep the half of a
   * queue free for others, and have few runs in it, so that to stop one is soon done.
   */
  forBatch(tx: Transaction, organizationId: number): Promise<number>
}

interface QueueRoomOptions {
  /** The limit of organizations without one of their own; 0: none. */
  readonly queuedRuns: number
  readonly onRefused?: (() => void) | undefined
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number
}

interface Queue {
  readonly queued: number
  /** 0: none. */
  readonly limit: number
}

/** What may be let in without a look at the queue. */
interface Allowance {
  left: number
  readonly until: number
}

/**
 * Creates the keeper of a process. The queues are in the database, so that the limit holds for all
 * processes together; while a queue is short, a kickoff pays nothing for it.
 */
export function createQueueRoom(options: QueueRoomOptions): QueueRoom {
  const { queuedRuns, onRefused, now = () => performance.now() } = options
  const allowances = new Map<number, Allowance>()

  const measure = (sql: Queryable, organizationId: number): Promise<Queue> =>
    measureQueueOf(sql, organizationId, queuedRuns)

  /** Returns true for a run that may begin to wait without a look. */
  function useAllowance(organizationId: number): boolean {
    const allowance = allowances.get(organizationId)
    if (!allowance || allowance.left <= 0 || now() >= allowance.until) return false
    allowance.left -= 1
    return true
  }

  function allow(organizationId: number, { queued, limit }: Queue): void {
    const isShort = limit === 0 || (limit >= LOOSE_FROM && queued < limit / 2)
    if (allowances.size >= ORGANIZATIONS_MAX) allowances.clear()
    const left = limit === 0 ? Infinity : limit / LOOSE_SHARE
    if (isShort) allowances.set(organizationId, { left, until: now() + LOOSE_MS })
    else allowances.delete(organizationId)
  }

  const lock = (tx: Queryable, organizationId: number) =>
    tx`select pg_advisory_xact_lock(${LOCK}, ${organizationId})`

  return {
    async forBatch(tx, organizationId) {
      await lock(tx, organizationId)
      const { queued, limit } = await measure(tx, organizationId)
      const most = limit === 0 ? BATCHED_MAX : Math.min(BATCHED_MAX, Math.ceil(limit / 2))
      return Math.max(0, most - queued)
    },
    of: (organizationId) => async (sql, insert) => {
      if (useAllowance(organizationId)) return insert(sql)
      allow(organizationId, await measure(sql, organizationId))
      if (useAllowance(organizationId)) return insert(sql)
      return inTransaction(sql, async (tx) => {
        // A statement of its own: the next one has to see what others have committed.
        await lock(tx, organizationId)
        const queue = await measure(tx, organizationId)
        if (queue.limit > 0 && queue.queued >= queue.limit) {
          onRefused?.()
          throw queueFull(queue)
        }
        return insert(tx)
      })
    },
  }
}

async function measureQueueOf(
  sql: Queryable,
  organizationId: number,
  limit: number,
): Promise<Queue> {
  const [queue] = await sql<[Queue]>`
    select count(*)::int as queued, coalesce(
      (select queued_runs from organization_limits where organization_id = ${organizationId}),
      ${limit}::int) as limit
    from executions where organization_id = ${organizationId} and status = 'queued'`
  return queue
}

function queueFull({ queued, limit }: Queue): AppError {
  return new AppError(
    'queue_full',
    `Your organization has ${queued} runs in the queue, and at most ${limit} may wait there. ` +
      'Nothing was started: try again when some of them have begun, or ask an administrator of ' +
      'the platform for a higher limit.',
    { details: { queued, limit }, headers: { 'retry-after': RETRY_AFTER_SECONDS } },
  )
}
