import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  recordProgress,
  recordTogether,
} from '../../../../services/platform/runs/record-progress.ts'
import { encodeEntries } from '../../../../services/platform/runs/journal-entries.ts'
import type { JournalEntries } from '../../../../services/platform/runs/journal-entries.ts'
import { createWebhook } from '../../../../services/platform/webhooks/webhooks.ts'
import { openPlatform } from '../harness.ts'

let platform: Awaited<ReturnType<typeof openPlatform>>

beforeAll(async () => {
  platform = await openPlatform()
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterAll(() => platform.close())

const at = '2026-01-01T00:00:00.000Z'
const step = { key: 'a', kind: 'tool', name: 'a', path: ['a'], startedAt: at } as const

const last = (output: string): JournalEntries => ({
  events: [
    { position: 0, event: { type: 'noted' } },
    { position: 1, event: { type: 'crew_completed' } },
  ],
  steps: [{ ...step, state: 'finished', endedAt: at, result: output }],
  completion: { output, usage: { inputTokens: 1, outputTokens: 2 } },
})

async function takeNext() {
  await platform.kickoff()
  return platform.takeOne()
}

describe('a run that completes', () => {
  it('ends in the commit of its last events, and is nobody’s afterwards', async () => {
    const { sql } = platform
    const [one, other] = [await takeNext(), await takeNext()]
    const runs = [one, other].map((lease) => ({ lease, entries: encodeEntries(last(lease.id)) }))
    expect(await recordTogether(sql, runs)).toEqual([{ state: 'written' }, { state: 'written' }])
    for (const { id } of [one, other]) {
      expect(await platform.get(id)).toMatchObject({
        status: 'completed',
        output: id,
        usage: { inputTokens: 1, outputTokens: 2 },
      })
    }
    const commits = await sql`
      select xmin::text from executions
      union select xmin::text from execution_events union select xmin::text from run_steps`
    expect(commits).toHaveLength(1)
    expect(await recordProgress(sql, one, last('again'))).toBe(false)
    expect((await platform.get(one.id))?.output).toBe(one.id)
  })

  it('does so also after attempts that were lost, and not with a lease of another', async () => {
    const { sql } = platform
    const run = { ...(await takeNext()), lostAttempts: 2 }
    await sql`update executions set lost_attempts = 2`
    const stranger = { ...run, leaseId: randomUUID() }
    expect(await recordProgress(sql, stranger, last('stolen'))).toBe(false)
    expect((await platform.get(run.id))?.status).toBe('running')
    expect(await recordProgress(sql, run, last('done'))).toBe(true)
    expect(await platform.get(run.id)).toMatchObject({ status: 'completed', output: 'done' })
  })

  it('is told to webhooks after its last events, with the number behind theirs', async () => {
    const { sql, automation } = platform
    await createWebhook(sql, {
      id: randomUUID(),
      deploymentId: automation.id,
      url: 'https://hooks.example',
      eventTypes: ['*'],
      format: 'standard',
      sealedKey: Buffer.from('key'),
    })
    const run = await takeNext()
    expect(await recordProgress(sql, run, last('done'))).toBe(true)
    const told = await sql<{ type: string; number: number }[]>`
      select type, (payload -> 'data' ->> 'number')::int as number
      from webhook_messages where execution_id = ${run.id} order by id`
    expect(told.map(({ type, number }) => [type, number])).toEqual([
      ['noted', 1],
      ['crew_completed', 2],
      ['run_completed', 3],
    ])
  })
})
