import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { deleteBatch, retryBatch } from '../../../../services/platform/batches/batches.ts'
import { checkRows, createBatch } from '../../../../services/platform/batches/create-batch.ts'
import { queueBatches } from '../../../../services/platform/batches/queue-batches.ts'
import {
  deleteUnusedFiles,
  storeInputFile,
} from '../../../../services/platform/runs/input-files.ts'
import { createQueueRoom } from '../../../../services/platform/runs/queue-room.ts'
import { loadFiles } from '../../../../services/platform/runs/run-files.ts'
import { definition as plain } from '../../../support/crew.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const at = useDatabase()
let automation: Automation
let rival: Automation
const queue = createQueueRoom({ queuedRuns: 0 })
const definition = {
  ...plain,
  inputs: ['topic', { name: 'source', type: 'file' as const, required: false }],
}

beforeAll(async () => {
  automation = await seedAutomation(at.sql, { organization: 'Acme', slug: 'research' })
  rival = await seedAutomation(at.sql, { organization: 'Rival', slug: 'theirs' })
})
beforeEach(async () => {
  await at.sql`delete from executions`
  await at.sql`delete from batches`
  await at.sql`delete from input_files`
})

const send = async (text: string, of = automation): Promise<string> => {
  const content = { name: 'notes.txt', declared: 'text/plain', chunks: [Buffer.from(text)] }
  return (await storeInputFile(at.sql, { automation: of, ...content })).id
}

const sentOf = (rows: string, format: 'csv' | 'jsonl' = 'csv') => ({
  content: Buffer.from(rows),
  format,
  keyName: 'id',
  definition,
})

async function create(rows: string, format: 'csv' | 'jsonl' = 'csv'): Promise<string> {
  const starter = { trigger: 'designer', id: 'person:1', name: 'Ada' } as const
  const by = { automation, starter, isPaused: false, idempotencyKey: undefined, name: 'rows' }
  const batch = { ...sentOf(rows, format), ...by }
  return (await at.sql.begin((tx) => createBatch(tx, batch))).id
}

const filesOfRuns = async () => {
  const runs = await at.sql<{ id: string; topic: string; file: string | null }[]>`
    select id, inputs ->> 'topic' as topic, inputs -> 'source' ->> 'name' as file
    from executions where batch_id is not null order by 2`
  return Promise.all(
    runs.map(async ({ id, topic, file }) => {
      const [loaded] = Object.values(await loadFiles(at.sql, { runId: id }))
      return [topic, file, loaded && Buffer.from(loaded.content_base64, 'base64').toString()]
    }),
  )
}

const age = () => at.sql`update input_files set created_at = now() - interval '2 days'`

describe('rows of a batch that name files', () => {
  it.each(['csv', 'jsonl'] as const)('give them to their runs, from %s', async (format) => {
    const [one, two] = [await send('one'), await send('two')]
    const rows =
      format === 'csv'
        ? `topic,source\na,${one}\nb,\nc,${two}\nd,${one}\n`
        : [
            { topic: 'a', source: { file_id: one } },
            { topic: 'b' },
            { topic: 'c', source: two.toUpperCase() },
            { topic: 'd', source: one },
          ]
            .map((row) => JSON.stringify(row))
            .join('\n')
    await create(rows, format)
    await queueBatches(at.sql, queue)
    expect(await filesOfRuns()).toEqual([
      ['a', 'notes.txt', 'one'],
      ['b', null, undefined],
      ['c', 'notes.txt', 'two'],
      ['d', 'notes.txt', 'one'],
    ])
  })

  it('keep them while they wait, are tried again, and no longer', async () => {
    const id = await create(`topic,source\na,${await send('one')}\n`)
    await age()
    expect(await deleteUnusedFiles(at.sql)).toBe(0)
    await queueBatches(at.sql, queue)
    await at.sql`
      update executions set status = 'error', error = '{}', started_at = now(), finished_at = now()`
    await retryBatch(at.sql, { id })
    await at.sql`delete from executions`
    expect(await deleteUnusedFiles(at.sql)).toBe(0)
    await queueBatches(at.sql, queue)
    expect(await filesOfRuns()).toEqual([['a', 'notes.txt', 'one']])
    expect((await at.sql`select from batch_row_files`).count).toBe(0)
    await at.sql`delete from executions`
    expect(await deleteUnusedFiles(at.sql)).toBe(1)
  })

  it('let them go with the batch', async () => {
    const id = await create(`topic,source\na,${await send('one')}\n`)
    await age()
    await deleteBatch(at.sql, { id })
    expect(await deleteUnusedFiles(at.sql)).toBe(1)
  })

  it('are refused with their lines for files that are not of the automation', async () => {
    const own = await send('one')
    const theirs = await send('secret', rival)
    const rows = `topic,source\na,${own}\nb,${theirs}\nc,${randomUUID()}\n`
    const sent = { ...sentOf(rows), deploymentId: automation.id }
    for (const refused of [() => create(rows), () => checkRows(at.sql, sent)]) {
      await expect(refused()).rejects.toMatchObject({
        code: 'unprocessable',
        details: {
          problems: [3, 4].map((line) => ({
            line,
            problem: expect.stringContaining('source names no file of this automation'),
          })),
        },
      })
    }
    expect((await at.sql`select from batches`).count).toBe(0)
  })
})
