import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import {
  BATCHES_MAX,
  deleteBatch,
  findBatch,
  pauseBatch,
  resumeBatch,
  retryBatch,
  stopBatch,
} from '../../../../services/platform/batches/batches.ts'
import { writeResults } from '../../../../services/platform/batches/batch-results.ts'
import { createBatch } from '../../../../services/platform/batches/create-batch.ts'
import type { NewBatch } from '../../../../services/platform/batches/create-batch.ts'
import {
  estimate,
  forecastBatch,
  forecastWaiting,
} from '../../../../services/platform/batches/forecast.ts'
import { queueBatches } from '../../../../services/platform/batches/queue-batches.ts'
import {
  removeAutomation,
  stopAutomation,
} from '../../../../services/platform/crews/automation-life.ts'
import { publishVersion } from '../../../../services/platform/projects/project-versions.ts'
import { createHold, liftHold } from '../../../../services/platform/erasures/legal-holds.ts'
import type { HoldFields } from '../../../../services/platform/erasures/legal-holds.ts'
import { createQueueRoom } from '../../../../services/platform/runs/queue-room.ts'
import type { Transaction } from '../../../../services/shared/postgres/database.ts'
import { definition } from '../../../support/crew.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const at = useDatabase()
let automation: Automation
const queue = createQueueRoom({ queuedRuns: 0 })

beforeAll(async () => {
  automation = await seedAutomation(at.sql, { organization: 'Acme', slug: 'research' })
})
beforeEach(async () => {
  await at.sql`delete from legal_holds`
  await at.sql`delete from executions`
  await at.sql`delete from batches`
})

/** Stores a batch of that many rows; returns its id. */
async function create(rows: number, others: Partial<NewBatch> = {}): Promise<string> {
  const content = Buffer.from(
    `topic,id\n${Array.from({ length: rows }, (_, row) => `t${row + 1},k${row + 1}\n`).join('')}`,
  )
  const starter = { trigger: 'designer', id: 'person:1', name: 'Ada' } as const
  const sent = { content, format: 'csv', keyName: 'id', name: 'rows.csv' } as const
  const by = { automation, definition, starter, isPaused: false, idempotencyKey: undefined }
  const { id } = await at.sql.begin((tx) => createBatch(tx, { ...sent, ...by, ...others }))
  return id
}

const find = async (id: string) => {
  const found = await findBatch(at.sql, { id, deploymentId: automation.id })
  if (!found) throw new Error('no such batch')
  return found
}

const countRuns = async (): Promise<number> => (await at.sql`select from executions`).count

/** Ends runs of a batch, so many as failed and the others as completed. */
const end = (id: string, failed: number) => at.sql`
  update executions e set status = case when place <= ${failed} then 'error' else 'completed' end,
    output = case when place > ${failed} then '=1+1' end, started_at = now(), finished_at = now(),
    error = case when place <= ${failed} then '{"code": "broken", "message": "No."}'::jsonb end
  from (select e.id, row_number() over (order by r.position) as place
    from batch_rows r join executions e on e.id = r.run_id
    where r.batch_id = ${id} and e.finished_at is null) each
  where e.id = each.id`

describe('a batch', () => {
  it('starts one run for each row, with the inputs and the version that were checked', async () => {
    const id = await create(250)
    expect(await find(id)).toMatchObject({ rows: 250, waiting: 250, queued: 0 })
    await queueBatches(at.sql, queue)
    expect(await find(id)).toMatchObject({ waiting: 0, queued: 250, isPaused: false })
    const runs = await at.sql<{ topic: string; starterId: string; projectVersionId: number }[]>`
      select inputs ->> 'topic' as topic, starter_id, project_version_id from executions`
    expect(new Set(runs.map(({ topic }) => topic)).size).toBe(250)
    const { projectVersionId } = automation
    expect(runs[0]).toMatchObject({ starterId: 'person:1', projectVersionId })
    expect((await at.sql`select from batch_rows where inputs is not null`).count).toBe(0)
  })

  it('is there once for an idempotency key, and refuses other rows with it', async () => {
    const id = await create(3, { idempotencyKey: 'k' })
    expect(await create(3, { idempotencyKey: 'k' })).toBe(id)
    await expect(create(4, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'unprocessable',
    })
    const twice = await Promise.all([1, 2].map(() => create(3, { idempotencyKey: 'l' })))
    expect(new Set(twice).size).toBe(1)
    await queueBatches(at.sql, queue)
    expect(await countRuns()).toBe(6)
  })

  it('is not there at all when one row is wrong', async () => {
    const content = Buffer.from(`topic\n${'a\n'.repeat(2000)}" "\n`)
    await expect(create(1, { content })).rejects.toThrow('Line 2002 is refused')
    expect((await at.sql`select from batches`).count).toBe(0)
  })

  it('starts no row twice by workers that queue at the same time, or are killed', async () => {
    const id = await create(150)
    const killed = new Error('killed')
    await at.sql
      .begin(async (tx) => {
        // All that a worker did in a portion, until it was killed before the commit.
        const begin = (turn: (point: Transaction) => Promise<unknown>) => tx.savepoint(turn)
        await queueBatches(Object.assign(tx, { begin }) as never, queue)
        throw killed
      })
      .catch((thrown: unknown) => expect(thrown).toBe(killed))
    expect(await countRuns()).toBe(0)
    await Promise.all([1, 2, 3].map(() => queueBatches(at.sql, queue)))
    await queueBatches(at.sql, queue)
    expect(await find(id)).toMatchObject({ waiting: 0, queued: 150 })
    expect(await countRuns()).toBe(150)
  })

  it('waits for room in the queue of its organization, and leaves half of it free', async () => {
    const id = await create(30)
    const small = createQueueRoom({ queuedRuns: 20 })
    expect(await queueBatches(at.sql, small)).toBe(10)
    expect(await find(id)).toMatchObject({ waiting: 20, queued: 10 })
    expect((await find(id)).waitsFor).toMatch(/in the queue/)
    await end(id, 0)
    await at.sql`update batches set next_at = now()`
    expect(await queueBatches(at.sql, small)).toBe(10)
    expect(await find(id)).toMatchObject({ completed: 10, queued: 10, waiting: 10 })
  })

  it('waits while its automation is stopped', async () => {
    const other = await seedAutomation(at.sql, { organization: 'Acme', slug: 'halted' })
    await stopAutomation(at.sql, other)
    await create(3, { automation: other })
    expect(await queueBatches(at.sql, queue)).toBe(0)
    const [{ waitsFor }] = await at.sql<[{ waitsFor: string }]>`select waits_for from batches`
    expect(waitsFor).toBe('The automation is stopped.')
  })

  it('is paused, resumed and stopped', async () => {
    const id = await create(120, { isPaused: true })
    expect(await queueBatches(at.sql, queue)).toBe(0)
    await resumeBatch(at.sql, { id })
    await queueBatches(at.sql, createQueueRoom({ queuedRuns: 80 }))
    await pauseBatch(at.sql, { id })
    expect(await queueBatches(at.sql, queue)).toBe(0)
    await at.sql.begin((tx) => stopBatch(tx, { id }))
    expect(await find(id)).toMatchObject({ waiting: 0, queued: 0, stopped: 120 })
    await expect(resumeBatch(at.sql, { id })).rejects.toMatchObject({ code: 'conflict' })
    await expect(pauseBatch(at.sql, { id })).rejects.toMatchObject({ code: 'conflict' })
    expect(await queueBatches(at.sql, queue)).toBe(0)
    await deleteBatch(at.sql, { id })
    expect(await countRuns()).toBe(40)
  })

  it('starts the failed rows again, and no others', async () => {
    const id = await create(5)
    await queueBatches(at.sql, queue)
    await end(id, 2)
    expect(await find(id)).toMatchObject({ failed: 2, completed: 3 })
    await at.sql.begin((tx) => retryBatch(tx, { id }))
    expect(await find(id)).toMatchObject({ failed: 0, completed: 3, waiting: 2 })
    await queueBatches(at.sql, queue)
    expect(await find(id)).toMatchObject({ completed: 3, queued: 2 })
    const topics = await at.sql`select distinct inputs from executions`
    expect([topics.count, await countRuns()]).toEqual([5, 7])
    await expect(retryBatch(at.sql, { id })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('has results as a file, with each row and no formula', async () => {
    const id = await create(3)
    await queueBatches(at.sql, createQueueRoom({ queuedRuns: 4 }))
    await end(id, 1)
    const lines: string[] = []
    for await (const part of writeResults(at.sql, id, 'jsonl')) {
      lines.push(Buffer.from(part).toString())
    }
    const rows = lines.join('').trim().split('\n')
    expect(rows.map((line): unknown => JSON.parse(line))).toMatchObject([
      { row: 1, key: 'k1', status: 'error', error_code: 'broken' },
      { row: 2, key: 'k2', status: 'completed', output: '=1+1' },
      { row: 3, key: 'k3', status: 'not_started', kickoff_id: null },
    ])
    let csv = ''
    for await (const part of writeResults(at.sql, id, 'csv')) csv += Buffer.from(part).toString()
    expect(csv).toContain(`,'=1+1,`)
  })
})

/** Runs of the version that ended, with what their models used. */
const seedEnded = (runs: number, model: string) => at.sql`
  with ended as (
    insert into executions (deployment_id, inputs, status, output, started_at, finished_at)
    select ${automation.id}, '{}', 'completed', '', now() - make_interval(secs => place), now()
    from generate_series(1, ${runs}::int) place
    returning id, extract(epoch from finished_at - started_at)::int as place)
  insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at,
    ended_at, usage, result)
  select id, 'a', 0, 'llm', ${model}, '[]', 'finished', 1, now(), now(),
    jsonb_build_object('input_tokens', place * 1000, 'output_tokens', 0), '{}' from ended`

describe('a forecast', () => {
  it('is unknown under 20 runs of the version', async () => {
    await seedEnded(19, 'gpt-5.4-mini')
    expect(await forecastBatch(at.sql, automation, { rows: 5 })).toEqual({
      rows: 5,
      runs: 19,
      isByVersion: false,
      isBySize: false,
      tokens: null,
      cost: null,
      time: null,
    })
  })

  it('is made of the last runs, and has no cost without a price', async () => {
    await seedEnded(39, 'gpt-5.4-mini')
    const { tokens, cost, time } = await forecastBatch(at.sql, automation, { rows: 1 })
    expect(tokens).toMatchObject({ runP50: 20_000, runP95: 38_000, totalP95: 38_000 })
    expect(cost?.runP95).toBeGreaterThan(0)
    expect(time?.runP50).toBeCloseTo(20_000)
    await seedEnded(1, 'a-model-without-a-price')
    expect(await forecastBatch(at.sql, automation, { rows: 1 })).toMatchObject({
      runs: 40,
      cost: null,
    })
  })

  it('is made of runs with inputs of such a size, where there are enough', async () => {
    await seedEnded(20, 'gpt-5.4-mini')
    await at.sql`
      update executions set inputs = jsonb_build_object('topic', repeat('x', 10000))`
    await seedEnded(25, 'gpt-5.4-mini')
    const content = Buffer.from(`topic\n${`${'y'.repeat(9000)}\n`.repeat(3)}`)
    const id = await create(3, { content, isPaused: true })
    const { rows, runs, isBySize } = await forecastWaiting(at.sql, await find(id))
    expect({ rows, runs, isBySize }).toEqual({ rows: 3, runs: 20, isBySize: true })
    const middle = await create(1, { content: Buffer.from(`topic\n${'y'.repeat(1000)}\n`) })
    expect(await forecastWaiting(at.sql, await find(middle))).toMatchObject({
      runs: 45,
      isBySize: false,
    })
  })

  it('takes former versions with the same models where the version has few runs', async () => {
    const [{ projectId }] = await at.sql<[{ projectId: number }]>`
      select project_id from project_versions where id = ${automation.projectVersionId}`
    await seedEnded(20, 'gpt-5.4-mini')
    const publish = async (change: object) => {
      const { id } = await publishVersion(at.sql, projectId, { ...definition, ...change })
      return { ...automation, projectVersionId: id }
    }
    const renamed = await publish({ name: 'Other words' })
    expect(await forecastBatch(at.sql, renamed, { rows: 1 })).toMatchObject({
      runs: 20,
      isByVersion: false,
      tokens: { runP95: 20_000 },
    })
    const other = await publish({ llm: { model: 'test-model', fallbacks: ['another'] } })
    expect(await forecastBatch(at.sql, other, { rows: 1 })).toMatchObject({
      runs: 0,
      isByVersion: false,
      tokens: null,
    })
    expect(await forecastBatch(at.sql, automation, { rows: 1 })).toMatchObject({
      isByVersion: true,
    })
  })

  it('has 95 % of the runs to come below its p95, and of the batches', () => {
    let state = 7
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
    const draw = () => -Math.log(random())
    const trials = 2000
    let [runs, batches] = [0, 0]
    for (let trial = 0; trial < trials; trial += 1) {
      const { runP95, totalP95 } = estimate(Array.from({ length: 100 }, draw), 200)
      if (draw() <= runP95) runs += 1
      if (Array.from({ length: 200 }, draw).reduce((sum, each) => sum + each, 0) <= totalP95) {
        batches += 1
      }
    }
    expect(Math.abs(runs / trials - 0.95)).toBeLessThan(0.03)
    expect(Math.abs(batches / trials - 0.95)).toBeLessThan(0.03)
  })
})

describe('a batch under a legal hold', () => {
  const hold = (kind: HoldFields['kind'], value: string) => {
    const by = { organizationId: automation.organizationId, createdBy: 'Ada' }
    return createHold(at.sql, by, { name: 'Case 1', kind, value })
  }
  const count = async (id: string): Promise<number> =>
    (await at.sql`select from batch_rows where batch_id = ${id}`).count

  it.each([
    ['automation', (): string => automation.automationId],
    ['user', (): string => '1'],
    ['text', (): string => 'T2'],
  ] as const)('of its %s is not deleted, by hand, by SQL or with others', async (kind, value) => {
    const id = await create(3)
    const held = await hold(kind, value())
    await expect(deleteBatch(at.sql, { id })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('A legal hold keeps rows of this batch'),
    })
    await expect(at.sql`delete from batches`).rejects.toThrow('batches is under a legal hold')
    await expect(at.sql`delete from batch_rows`).rejects.toThrow('batch_rows is under a legal hold')
    await expect(removeAutomation(at.sql, automation)).rejects.toThrow('or rows of batches')
    await expect(at.sql`delete from deployments`).rejects.toThrow('under a legal hold')
    expect(await count(id)).toBe(3)
    await liftHold(at.sql, held)
    await deleteBatch(at.sql, { id })
    expect(await count(id)).toBe(0)
  })

  it('is kept by the run of one of its rows', async () => {
    const id = await create(2)
    await queueBatches(at.sql, queue)
    const [row] = await at.sql<{ runId: string }[]>`
      select run_id from batch_rows where batch_id = ${id} and position = 2`
    await hold('run', row?.runId ?? '')
    await expect(deleteBatch(at.sql, { id })).rejects.toThrow('A legal hold keeps')
    await at.sql`delete from batch_rows where batch_id = ${id} and position = 1`
    expect(await count(id)).toBe(1)
  })

  it('keeps the held inputs when it is stopped, and starts nothing with them', async () => {
    const id = await create(3)
    await hold('text', 't2')
    await stopBatch(at.sql, { id })
    expect(await find(id)).toMatchObject({ waiting: 0, stoppedAt: expect.any(Date) })
    expect(await at.sql`select key, inputs from batch_rows where inputs is not null`).toEqual([
      { key: 'k2', inputs: { topic: 't2' } },
    ])
    await queueBatches(at.sql, queue)
    expect(await countRuns()).toBe(0)
    await expect(retryBatch(at.sql, { id })).rejects.toThrow('The batch was stopped')
  })

  it('gives its inputs to its runs as ever', async () => {
    const id = await create(3)
    await hold('automation', automation.automationId)
    await queueBatches(at.sql, queue)
    expect(await find(id)).toMatchObject({ waiting: 0, queued: 3 })
    expect((await at.sql`select from batch_rows where inputs is not null`).count).toBe(0)
  })

  it('stays when new batches take the place of old ones, which go', async () => {
    const [kept, gone] = [await create(1), await create(2)]
    await stopBatch(at.sql, { id: gone })
    await hold('text', 'k1')
    await at.sql`update batch_rows set key = 'other' where batch_id = ${gone} and position = 1`
    await stopBatch(at.sql, { id: kept })
    await at.sql`
      insert into batches (organization_id, deployment_id, version_id, name, content_sha256, rows,
        waiting, trigger, starter_id, starter_name, created_at)
      select organization_id, deployment_id, version_id, name, content_sha256, rows, 0, trigger,
        starter_id, starter_name, now() + interval '1 hour'
      from batches, generate_series(1, ${BATCHES_MAX}::int) where id = ${gone}`
    await create(1, { content: Buffer.from('topic,id\nother,k9\n') })
    const left = await at.sql<{ id: string }[]>`select id from batches where rows in (1, 2)`
    const ids = left.map(({ id }) => id)
    expect(ids).toContain(kept)
    expect(ids).not.toContain(gone)
  })

  it('is none of another organization', async () => {
    const other = await seedAutomation(at.sql, { organization: 'Rival', slug: 'rival' })
    const by = { organizationId: other.organizationId, createdBy: 'Eve' }
    await createHold(at.sql, by, { name: 'All', kind: 'text', value: 't1' })
    await createHold(at.sql, by, {
      name: 'Own',
      kind: 'automation',
      value: automation.automationId,
    })
    const id = await create(2)
    await deleteBatch(at.sql, { id })
    expect(await count(id)).toBe(0)
  })
})
