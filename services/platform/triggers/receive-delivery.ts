import { randomUUID, createHash } from 'node:crypto'
import { AppError } from '../../shared/errors.ts'
import type { Database, Transaction } from '../../shared/postgres/database.ts'
import type { Inputs } from '../definitions/input-declarations.ts'
import type { QueueRoom } from '../runs/queue-room.ts'
import type { Starter } from '../runs/runs.ts'
import { startUnattended } from '../schedules/run-schedules.ts'
import type { TriggerDeliveryState } from './trigger-deliveries.ts'
import { mapDelivery } from './trigger-mapping.ts'
import type { Facts } from './trigger-mapping.ts'
import { pauseTrigger } from './triggers.ts'
import type { Trigger } from './triggers.ts'

const ID_MAX = 300
const PROBLEM_MAX = 1000

/** What a delivery of a trigger did. */
export interface Received {
  readonly state: TriggerDeliveryState
  readonly deliveryId: string
  readonly runId: string | null
  /** Why it started no run. */
  readonly problem: string | null
  /** A delivery with its id was received before. */
  readonly isRepeated: boolean
  /** The error of a delivery that failed, for its sender. */
  readonly error?: AppError
}

/** A delivery whose signature is good. */
interface Given extends Facts {
  /** What its scheme takes for its id. */
  readonly schemeId: unknown
  /** Why it is refused, or cannot be read. */
  readonly refused?: AppError | undefined
}

/**
 * Takes a delivery, and starts its run in the transaction that records it: deliveries with one id
 * start one run, whichever replica they reach and whenever one is killed. One that failed is tried
 * again when it is sent again.
 */
export async function receiveDelivery(
  sql: Database,
  { trigger, given, queue }: { trigger: Trigger; given: Given; queue?: QueueRoom | undefined },
): Promise<Received> {
  const wanted = decide(trigger, given)
  const deliveryId = toDeliveryId(wanted.deliveryId) ?? toDeliveryId(given.schemeId) ?? randomUUID()
  return sql.begin(async (tx) => {
    const id = await record(tx, { trigger, given, deliveryId })
    if (id === undefined) return findEarlier(tx, trigger, deliveryId)
    const starter = { trigger: 'event', id: `trigger:${trigger.id}`, name: trigger.name } as const
    const outcome = await carryOut(tx, wanted, { trigger, starter, queue })
    if (outcome.error?.code === 'timeout') await pauseTrigger(tx, trigger.id, outcome.problem)
    await note(tx, id, outcome)
    return { ...outcome, deliveryId, isRepeated: false }
  })
}

/** What is to become of a delivery. */
type Decision = { readonly deliveryId?: unknown } & (
  | { readonly inputs: Inputs }
  | { readonly skipped: string }
  | { readonly error: AppError }
)

function decide(trigger: Trigger, { refused, ...facts }: Given): Decision {
  if (refused) return { error: refused }
  if (trigger.pausedAt) return { skipped: trigger.pauseReason ?? 'The trigger is paused.' }
  try {
    const { inputs, deliveryId } = mapDelivery(trigger, facts)
    return inputs ? { deliveryId, inputs } : { deliveryId, skipped: 'The filter leaves it out.' }
  } catch (thrown) {
    if (thrown instanceof AppError) return { error: thrown }
    throw thrown
  }
}

function toDeliveryId(given: unknown): string | undefined {
  const text = typeof given === 'number' ? String(given) : given
  if (typeof text !== 'string' || text === '') return undefined
  if (text.length <= ID_MAX) return text
  return createHash('sha256').update(text).digest('hex')
}

interface Recorded {
  readonly trigger: Trigger
  readonly given: Given
  readonly deliveryId: string
}

/** Returns undefined where the id has started a run or was skipped. */
async function record(
  tx: Transaction,
  { trigger, given: { headers, body }, deliveryId }: Recorded,
): Promise<string | undefined> {
  const payload = body === undefined ? null : JSON.stringify(body)
  const [row] = await tx<{ id: string }[]>`
    insert into trigger_deliveries as d (trigger_id, delivery_id, state, headers, payload)
    select id, ${deliveryId}, 'failed', ${JSON.stringify(headers)}::text::jsonb,
      ${payload}::text::jsonb
    from triggers where id = ${trigger.id}
    on conflict (trigger_id, delivery_id) do update
      set received_at = now(), headers = excluded.headers, payload = excluded.payload
      where d.state = 'failed'
    returning id::text`
  return row?.id
}

async function findEarlier(
  tx: Transaction,
  { id }: Trigger,
  deliveryId: string,
): Promise<Received> {
  const [earlier] = await tx<Pick<Received, 'state' | 'runId' | 'problem'>[]>`
    select state, run_id, problem from trigger_deliveries
    where trigger_id = ${id} and delivery_id = ${deliveryId}`
  if (earlier) return { ...earlier, deliveryId, isRepeated: true }
  throw new AppError('conflict', 'The trigger is being deleted.')
}

type Outcome = Omit<Received, 'deliveryId' | 'isRepeated'>

interface Start {
  readonly trigger: Pick<Trigger, 'deploymentId'>
  readonly starter: Starter
  readonly queue: QueueRoom | undefined
}

async function carryOut(tx: Transaction, wanted: Decision, start: Start): Promise<Outcome> {
  if ('skipped' in wanted) return { state: 'skipped', runId: null, problem: wanted.skipped }
  if ('error' in wanted) return failed(wanted.error)
  const {
    trigger: { deploymentId },
    starter,
    queue,
  } = start
  try {
    const run = { deploymentId, inputs: wanted.inputs, starter }
    const runId = await tx.savepoint((point) => startUnattended(point, run, queue))
    return { state: 'started', runId, problem: null }
  } catch (thrown) {
    if (thrown instanceof AppError) return failed(thrown)
    throw thrown
  }
}

const failed = (error: AppError): Outcome => ({
  state: 'failed',
  runId: null,
  problem: error.message.slice(0, PROBLEM_MAX),
  error,
})

async function note(tx: Transaction, id: string, { state, runId, problem }: Outcome) {
  await tx`
    update trigger_deliveries
    set state = ${state}, problem = ${problem}, run_id = coalesce(${runId}, run_id)
    where id = ${id}`
}

interface Again {
  readonly trigger: Trigger
  readonly delivery: Facts & { readonly id: string }
  readonly starter: Starter
  readonly queue: QueueRoom
}

/**
 * Starts a run with a delivery that was received, whatever the filter says, with the mapping of
 * now. Returns the id of the run. Raises what keeps it from starting.
 */
export async function startAgain(
  sql: Database,
  { trigger, delivery, starter, queue }: Again,
): Promise<string> {
  const { inputs = {} } = mapDelivery({ ...trigger, filter: null }, delivery)
  return sql.begin(async (tx) => {
    const run = { deploymentId: trigger.deploymentId, inputs, starter }
    const runId = await startUnattended(tx, run, queue)
    await note(tx, delivery.id, { state: 'started', runId, problem: null })
    return runId
  })
}
