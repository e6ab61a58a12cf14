import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { deleteBatch, findBatch } from '../../../../services/platform/batches/batches.ts'
import { createBatch } from '../../../../services/platform/batches/create-batch.ts'
import { queueBatches } from '../../../../services/platform/batches/queue-batches.ts'
import {
  releaseBatch,
  releaseEnded,
  reserveBatch,
} from '../../../../services/platform/batches/reserve-batch.ts'
import { bookingOf } from '../../../../services/platform/budgets/budget-booking.ts'
import { reserveCall } from '../../../../services/platform/budgets/budget-ledger.ts'
import { findExhausted } from '../../../../services/platform/budgets/budget-room.ts'
import { listBudgets, setBudget } from '../../../../services/platform/budgets/budgets.ts'
import { encodeEntries } from '../../../../services/platform/runs/journal-entries.ts'
import { createQueueRoom } from '../../../../services/platform/runs/queue-room.ts'
import { recordTogether } from '../../../../services/platform/runs/record-progress.ts'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { definition } from '../../../support/crew.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const at = useDatabase()
let automation: Automation
const queue = createQueueRoom({ queuedRuns: 0 })
const MAX = 10_000

beforeAll(async () => {
  automation = await seedAutomation(at.sql, { organization: 'Acme', slug: 'research' })
})
beforeEach(async () => {
  for (const table of ['executions', 'batches', 'budgets'])
    await at.sql`delete from ${at.sql(table)}`
  await limit({})
})

const limit = ({ tokens = MAX, usd = null as number | null }) =>
  setBudget(
    at.sql,
    { organizationId: automation.organizationId, deploymentId: null, period: 'month' },
    { tokensMax: tokens, usdMax: usd, unpriced: 'refuse' },
  )

/** Runs of the version that ended, each of 1,000 tokens. */
const seedEnded = (runs: number, model = 'gpt-5.4-mini') => at.sql`
  with ended as (
    insert into executions (deployment_id, inputs, status, output, started_at, finished_at)
    select ${automation.id}, '{}', 'completed', '', now() - interval '1 s', now()
    from generate_series(1, ${runs}::int) returning id)
  insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at,
    ended_at, usage, result)
  select id, 'a', 0, 'llm', ${model}, '[]', 'finished', 1, now(), now(),
    '{"input_tokens": 1000, "output_tokens": 0}', '{}' from ended`

async function create(rows: number): Promise<string> {
  const content = Buffer.from(`topic\n${'a\n'.repeat(rows)}`)
  const starter = { trigger: 'designer', id: 'person:1', name: 'Ada' } as const
  const sent = { content, format: 'csv', keyName: 'id', name: 'rows.csv' } as const
  const by = { automation, definition, starter, isPaused: false, idempotencyKey: undefined }
  return (await at.sql.begin((tx) => createBatch(tx, { ...sent, ...by }))).id
}

const find = async (id: string) => {
  const found = await findBatch(at.sql, { id, deploymentId: automation.id })
  if (!found) throw new Error('no such batch')
  return found
}
const reserve = async (id: string) => {
  const batch = await find(id)
  await at.sql.begin((tx) => reserveBatch(tx, batch))
}
const reserved = async (): Promise<number | undefined> =>
  (await listBudgets(at.sql, { organizationId: automation.organizationId }))[0]?.reservedTokens

/** What is free is in the ledgers after the second look. */
async function release(): Promise<void> {
  await releaseEnded(at.sql)
  await releaseEnded(at.sql)
}

const take = async (): Promise<LeasedRun> => {
  const [taken] = await takeRuns(at.sql, 1)
  if (!taken) throw new Error('nothing was taken')
  return taken
}
const call = (tokens: number, step = randomUUID()) => ({
  step,
  inputTokens: tokens,
  outputTokens: 0,
  price: undefined,
})
const end = (runs: number) => at.sql`
  update executions set status = 'completed', output = '', started_at = now(), finished_at = now(),
    lease_id = null, lease_expires_at = null
  where id in (
    select id from executions where batch_id is not null and finished_at is null limit ${runs})`

describe('the reservation of a batch', () => {
  it('keeps others from its part of a budget, and not its own runs', async () => {
    await seedEnded(20)
    const id = await create(8)
    await reserve(id)
    expect(await reserved()).toBe(8000)
    expect(await find(id)).toMatchObject({ reservedTokens: 8000 })
    await kickoff(at.sql, { deploymentId: automation.id, inputs: { topic: 'other' } })
    const other = await take()
    expect(await reserveCall(at.sql, other, call(2001))).toMatchObject({ limit: 'tokens' })
    expect(await reserveCall(at.sql, other, call(2000))).toBe(true)
    expect(await findExhausted(at.sql, other)).toMatchObject({ limit: 'tokens' })
    await queueBatches(at.sql, queue)
    const own = await take()
    expect(await findExhausted(at.sql, own)).toBeUndefined()
    expect(await reserveCall(at.sql, own, call(7000))).toBe(true)
    const begun = [call(900), call(100)]
    const startedAt = new Date().toISOString()
    const steps = begun.map(({ step: key }) => ({
      key,
      kind: 'llm' as const,
      name: 'm',
      path: [key],
      startedAt,
      state: 'started' as const,
    }))
    const [written] = await recordTogether(at.sql, [
      { lease: own, entries: encodeEntries({ events: [], steps, calls: begun }) },
    ])
    const none = bookingOf({ asked: [], settled: [], warnings: [] })
    expect((written?.booking ?? none).reserved.size).toBe(2)
    expect(await reserveCall(at.sql, own, call(1))).toMatchObject({ limit: 'tokens' })
  })

  it('is released as its runs end, with the batch, and by hand', async () => {
    await seedEnded(20)
    const id = await create(4)
    await reserve(id)
    await queueBatches(at.sql, queue)
    await release()
    expect(await reserved()).toBe(4000)
    await end(3)
    await release()
    expect([await reserved(), (await find(id)).reservedTokens]).toEqual([1000, 1000])
    await end(1)
    await release()
    expect([await reserved(), (await find(id)).reservedTokens]).toEqual([0, null])
    expect((await at.sql`select from batch_reservations`).count).toBe(0)
    for (const free of [
      (of: string) => deleteBatch(at.sql, { id: of }),
      (of: string) => releaseBatch(at.sql, { id: of }),
    ]) {
      const next = await create(2)
      await reserve(next)
      await free(next)
      await release()
      expect(await reserved()).toBe(0)
    }
    await expect(releaseBatch(at.sql, { id })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('is all or nothing, however many ask at the same time', async () => {
    await seedEnded(20)
    const ids = await Promise.all([create(6), create(6), create(6)])
    const asked = await Promise.allSettled(ids.map(reserve))
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await reserved()).toBe(6000)
    const [refused] = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    expect(refused).toMatchObject({
      code: 'conflict',
      details: { code: 'budget_exceeded', limit: 'tokens', reserved: 6000, asked: 6000 },
    })
  })

  it('is refused where what it takes is unknown, or there is no budget', async () => {
    const id = await create(2)
    await expect(reserve(id)).rejects.toThrow('too few runs have ended')
    await seedEnded(20, 'a-model-without-a-price')
    await limit({ usd: 5 })
    await expect(reserve(id)).rejects.toThrow('a model has no price')
    await limit({})
    await reserve(id)
    await expect(reserve(id)).rejects.toThrow('has a reservation already')
    await at.sql`delete from budgets`
    await expect(reserve(await create(2))).rejects.toThrow('no budget of a day or a month')
  })
})
