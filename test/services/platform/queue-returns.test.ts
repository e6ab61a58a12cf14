import { describe, expect, it } from 'vitest'
import { measureQueue } from '../../../services/platform/runs/queue-size.ts'
import {
  putBackRun,
  releaseRun,
  retryRun,
  takeRuns,
} from '../../../services/platform/runs/run-queue.ts'
import { recordEvent } from '../../support/record-event.ts'
import { listProgress } from '../../../services/platform/runs/progress.ts'
import { useOneAutomation } from './one-automation.ts'

const at = useOneAutomation()

const told = (type: string) => ({ position: 0, event: { type } })

const toldBy = async (id: string) =>
  (await listProgress(at.sql, id, 10)).map(({ attempt, event }) => [attempt, event.type])

describe('a run that goes back to the queue', () => {
  it('keeps what it told when it is handed over, marked by the attempt', async () => {
    const id = await at.enqueue()
    const first = await at.takeOne()
    await recordEvent(at.sql, first, told('of_the_first'))
    await releaseRun(at.sql, first)
    expect(await toldBy(id)).toEqual([[1, 'of_the_first']])
    const second = await at.takeOne()
    expect(second).toMatchObject({ attempt: 2, lostAttempts: 0 })
    await recordEvent(at.sql, second, told('of_the_second'))
    expect(await toldBy(id)).toEqual([
      [1, 'of_the_first'],
      [2, 'of_the_second'],
    ])
  })

  it('counts no attempt that was never begun', async () => {
    const id = await at.enqueue()
    const first = await at.takeOne()
    expect(await putBackRun(at.sql, first)).toBe(true)
    expect(await putBackRun(at.sql, first)).toBe(false)
    const [row] = await at.sql`select status, attempt, started_at from executions where id = ${id}`
    expect(row).toEqual({ status: 'queued', attempt: 0, startedAt: null })
    expect(await at.takeOne()).toMatchObject({ id, attempt: 1, lostAttempts: 0 })
    await at.sql`update executions set lease_expires_at = now() - interval '1 second'`
    const second = await at.takeOne()
    expect(await putBackRun(at.sql, second)).toBe(true)
    expect(await at.takeOne()).toMatchObject({ id, attempt: 2, lostAttempts: 1 })
  })

  it('counts the attempt that broke, waits, and keeps what it told', async () => {
    const id = await at.enqueue()
    const first = await at.takeOne()
    await recordEvent(at.sql, first, told('of_the_first'))
    expect(await retryRun(at.sql, first, 60)).toBe(true)
    expect(await retryRun(at.sql, first, 60)).toBe(false)
    expect(await takeRuns(at.sql, 1)).toEqual([])
    await at.sql`update executions set available_at = now()`
    expect(await at.takeOne()).toMatchObject({ id, attempt: 2, lostAttempts: 1 })
    expect(await toldBy(id)).toEqual([[1, 'of_the_first']])
  })
})

describe('the size of the queue', () => {
  it('is what is due, and how long the first has waited', async () => {
    const empty = { due: 0, oldestSeconds: 0, heldBack: 0, running: 0, startableSeconds: 0 }
    expect(await measureQueue(at.sql)).toEqual(empty)
    const id = await at.enqueue()
    await at.enqueue()
    await at.sql`
      update executions set available_at = now() - interval '90 seconds' where id = ${id}`
    const size = await measureQueue(at.sql)
    expect(size.due).toBe(2)
    expect(size.oldestSeconds).toBeGreaterThanOrEqual(90)
    await at.sql`update executions set available_at = now() + interval '1 hour'`
    expect(await measureQueue(at.sql)).toEqual(empty)
  })
})
