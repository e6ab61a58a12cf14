import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findBatch, retryBatch } from '../../../services/platform/batches/batches.ts'
import { createBatch } from '../../../services/platform/batches/create-batch.ts'
import { forecastBatch } from '../../../services/platform/batches/forecast.ts'
import { queueBatches } from '../../../services/platform/batches/queue-batches.ts'
import { createQueueRoom } from '../../../services/platform/runs/queue-room.ts'
import { listBudgets, setBudget } from '../../../services/platform/budgets/budgets.ts'
import { createModelPrice } from '../../../services/platform/budgets/model-prices.ts'
import { createLlmConnection } from '../../../services/platform/connections/llm-connections.ts'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import { definition } from '../../support/crew.ts'
import { startSpanReceiver } from '../../support/span-receiver.ts'
import type { SpanReceiver } from '../../support/span-receiver.ts'
import { refuses } from '../crew/fake-model.ts'
import type { Answer } from '../crew/fake-model.ts'
import { COLLECTOR_SECRET, openWorker } from './harness.ts'

const { platform, model, deploy } = await openWorker()
const { sql, automation } = platform
const { organizationId } = automation
let collector: SpanReceiver

const price = (owner: number, name: string, input: number) =>
  createModelPrice(sql, owner, {
    name,
    models: [name],
    begins: null,
    ends: null,
    perMillion: { input, output: 0 },
  })

/** A million tokens, by the tier that was asked for. */
const million: Answer = (response, { body }) => {
  const { service_tier = 'default' } = body
  const choices = [{ message: { content: 'Facts.' }, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 0 }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ model: body.model, choices, usage, service_tier }))
}
const full = refuses(429, 'Resource unavailable.')

beforeEach(async () => {
  for (const table of ['batches', 'budgets', 'model_prices', 'llm_connections']) {
    await sql`delete from ${sql(table)}`
  }
  const of = { organizationId, name: 'main', provider: 'openai_compatible', model: 'test-model' }
  await createLlmConnection(sql, { ...of, baseUrl: model.baseUrl, batchTier: 'flex' })
  await price(organizationId, 'test-model', 2)
  await price(organizationId, 'test-model@flex', 1)
  const rival = await ensureOrganization(sql, { name: 'Rival' })
  await price(rival.id, 'test-model@flex', 0)
  const period = { organizationId, deploymentId: null, period: 'month' } as const
  await setBudget(sql, period, { tokensMax: null, usdMax: 1000, unpriced: 'refuse' })
  collector = await startSpanReceiver()
  await deploy({ LLM_PRIVATE_ORIGINS: new URL(model.baseUrl).origin })
})
afterEach(async () => {
  await platform.stopServices()
  await collector.stop()
})

const startWorker = () =>
  platform.startWorker({ COLLECTOR_URL: collector.url, COLLECTOR_JWT_SECRET: COLLECTOR_SECRET })

async function startBatch(): Promise<string> {
  const starter = { trigger: 'designer', id: 'person:1', name: 'Ada' } as const
  const content = Buffer.from('topic\nwhales\n')
  const sent = { content, format: 'csv', keyName: 'id', name: 'rows.csv' } as const
  const by = { automation, definition, starter, isPaused: false, idempotencyKey: undefined }
  return (await sql.begin((tx) => createBatch(tx, { ...sent, ...by }))).id
}
const batch = async (id: string) => {
  const found = await findBatch(sql, { id, deploymentId: automation.id })
  if (!found) throw new Error('no such batch')
  return found
}
const spent = async () => (await listBudgets(sql, { organizationId }))[0]?.spentUsd
const asked = (): unknown[] => model.requests.map(({ body }) => body['service_tier'])

describe('a batch whose connection has a service tier for batches', () => {
  it('asks for it, and is budgeted and traced by its price; other runs are not', async () => {
    model.play(million)
    await startWorker()
    const id = await startBatch()
    await expect.poll(async () => (await batch(id)).completed).toBe(1)
    expect(asked()).toEqual(['flex', 'flex'])
    await expect.poll(spent).toBe(2)
    const costs = () =>
      collector
        .spans()
        .flatMap(({ name, attributes }) => (name === 'chat test-model' ? [attributes] : []))
    await expect.poll(() => costs().length).toBe(2)
    expect(costs()[0]).toMatchObject({
      'openai.response.service_tier': 'flex',
      'gen_ai.usage.cost': 1,
    })
    await platform.until(await platform.kickoff(), 'completed')
    expect(asked().slice(2)).toEqual([undefined, undefined])
    await expect.poll(spent).toBe(6)
  })

  it('pays the usual price where the tier has no room, and a retry asks for it again', async () => {
    model.play(full, million, refuses(400, 'No.'))
    await startWorker()
    const id = await startBatch()
    await expect.poll(async () => (await batch(id)).failed).toBe(1)
    expect(asked()).toEqual(['flex', undefined, 'flex'])
    await expect.poll(spent).toBe(2)
    model.play(million)
    await sql.begin((tx) => retryBatch(tx, { id }))
    await queueBatches(sql, createQueueRoom({ queuedRuns: 0 }))
    await expect.poll(async () => (await batch(id)).completed).toBe(1)
    expect(asked().slice(3)).toEqual(['flex', 'flex'])
    await expect.poll(spent).toBe(4)
  })

  it('is forecast by its price', async () => {
    await sql`
      with ended as (
        insert into executions (deployment_id, inputs, status, output, started_at, finished_at)
        select ${automation.id}, '{}', 'completed', '', now() - interval '1 s', now()
        from generate_series(1, 20) returning id)
      insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
        started_at, ended_at, usage, result)
      select id, 'a', 0, 'llm', 'test-model', '[]', 'finished', 1, now(), now(),
        '{"input_tokens": 1000000, "output_tokens": 0}', '{}' from ended`
    expect(await forecastBatch(sql, automation, { rows: 3 })).toMatchObject({
      cost: { runP95: 1, totalP50: 3 },
    })
    const usual = await forecastBatch(sql, automation, { rows: 3, isBatch: false })
    expect(usual).toMatchObject({ cost: { runP95: 2 } })
  })
})
