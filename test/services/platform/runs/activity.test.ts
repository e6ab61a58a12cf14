import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  countRunsByStep,
  listAutomationActivity,
} from '../../../../services/platform/runs/activity.ts'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { recordEvent } from '../../../support/record-event.ts'
import { kickoff, stopRun } from '../../../../services/platform/runs/runs.ts'
import { listProgress } from '../../../../services/platform/runs/progress.ts'
import { openPlatform } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
})

afterAll(() => platform.close())

describe('the activity of an organization', () => {
  it('has the last run of each automation and the runs of the week, of its own only', async () => {
    const { sql, acme, rival } = platform
    const start = (deploymentId: number) => kickoff(sql, { deploymentId, inputs: {} })
    const old = await start(acme.research.id)
    await sql`update executions set queued_at = now() - interval '8 days' where id = ${old}`
    const stopped = await start(acme.research.id)
    await stopRun(sql, stopped)
    await start(rival.research.id)
    const page = await listAutomationActivity(sql, acme.organizationId, { limit: 10 })
    expect(page.total).toBe(2)
    expect(page.items).toMatchObject([
      { name: 'acme digest', lastStatus: null, lastQueuedAt: null, runsLastWeek: 0 },
      { name: 'acme research', lastStatus: 'stopped', runsLastWeek: 1 },
    ])
    const hours = await countRunsByStep(sql, acme, '24h')
    expect(hours).toHaveLength(24)
    const sum = { completed: 0, failed: 0, open: 0 }
    for (const { completed, failed, open } of hours) {
      sum.completed += completed
      sum.failed += failed
      sum.open += open
    }
    expect(sum).toEqual({ completed: 0, failed: 1, open: 0 })
    expect(hours.at(-1)?.from.getTime()).toBeLessThanOrEqual(Date.now())
    const week = await countRunsByStep(sql, acme, '7d')
    expect([week.length, week.at(-1)?.failed]).toEqual([28, 1])
    const month = await countRunsByStep(sql, acme, '30d')
    const opened = month.reduce((sum, { open }) => sum + open, 0)
    expect([month.length, opened]).toEqual([30, 1])
  })
})

describe('the progress of a run', () => {
  it('is the newest events of the last attempt, in order', async () => {
    const { sql, acme } = platform
    await sql`delete from executions`
    const id = await kickoff(sql, { deploymentId: acme.research.id, inputs: {} })
    const [first] = await takeRuns(sql, 1)
    if (!first) throw new Error('nothing to take')
    await recordEvent(sql, first, { position: 0, event: { type: 'lost' } })
    await sql`update executions set lease_expires_at = now() - interval '1 second'`
    const [second] = await takeRuns(sql, 1)
    if (!second) throw new Error('nothing to take')
    for (let position = 0; position < 5; position += 1) {
      await recordEvent(sql, second, { position, event: { type: 'step', position } })
    }
    const progress = await listProgress(sql, id, 3)
    expect(progress.map(({ event }) => event['position'])).toEqual([2, 3, 4])
    expect(progress[0]?.recordedAt).toBeInstanceOf(Date)
  })
})
