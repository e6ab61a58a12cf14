import { randomUUID } from 'node:crypto'
import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { completeRun, leaveQueue, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import type { LeasedRun } from '../../../../services/platform/runs/run-queue.ts'
import { createLog } from '../../../../services/shared/log.ts'
import { listen } from '../../../../services/shared/postgres/listen.ts'
import { startLoop } from '../../../../services/worker/run/loop.ts'
import { useOneAutomation } from '../one-automation.ts'

const NUM_RUNS = Number(process.env['FUZZ_RUNS'] ?? 15)
const WORKERS = 4
const PLACES = 2
const log = createLog({ name: 'test', level: 'silent' })
const at = useOneAutomation()
const stops: (() => Promise<void>)[] = []

async function closeWorkers(): Promise<void> {
  for (const stop of stops.splice(0)) await stop()
  await at.sql`delete from executions`
  await at.sql`delete from queue_listeners`
}

afterEach(closeWorkers)

/** A worker that looks when it is called, at the start, and not by the clock. */
async function openWorker() {
  const channel = `queue_${randomUUID()}`
  const runs = new Map<LeasedRun, () => void>()
  const worker = { channel, runs, isDead: false, calls: 0, looks: 0 }
  const loop = startLoop<LeasedRun>({
    async take(limit, onEmpty) {
      if (worker.isDead) return []
      worker.looks += 1
      return takeRuns(at.sql, limit, { channel, onEmpty: () => onEmpty(Infinity) })
    },
    passOn: () => leaveQueue(at.sql, channel),
    run: (run) => new Promise((resolve) => runs.set(run, resolve)),
    putBack: async () => {},
    concurrency: PLACES,
    pollMs: 60_000,
    log,
  })
  function hear(which: string): void {
    worker.calls += 1
    if (!worker.isDead) loop.call(which)
  }
  await new Promise<void>((onOpen) => void listen(at.sql, { channel, hear, onOpen, log }))
  const wake = (): void => void (worker.isDead || loop.wake())
  listen(at.sql, { channel: 'execution_queued', hear: wake, log })
  async function end(): Promise<void> {
    const [[run, resolve] = []] = runs
    if (!run) return
    runs.delete(run)
    await completeRun(at.sql, run, { output: '', usage: { inputTokens: 0, outputTokens: 0 } })
    resolve?.()
  }
  stops.push(async () => {
    worker.isDead = true
    for (const resolve of runs.values()) resolve()
    await loop.stop(0)
  })
  return { worker, end }
}

const openWorkers = (count: number) => Promise.all(Array.from({ length: count }, openWorker))
const listeners = async () => (await at.sql`select from queue_listeners`).count

type Workers = Awaited<ReturnType<typeof openWorkers>>

async function isStranded(workers: Workers): Promise<boolean> {
  const waiting = await at.sql`select from executions where status = 'queued'`
  const hasRoom = workers.some(({ worker }) => !worker.isDead && worker.runs.size < PLACES)
  return waiting.count > 0 && hasRoom
}

const steps = fc.array(
  fc.oneof(
    fc.record({ queued: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ ended: fc.nat(WORKERS - 1) }),
  ),
  { maxLength: 12 },
)
const deaths = fc.record({ of: fc.nat(WORKERS - 1), after: fc.nat(12) })

describe('the workers that are called for a run', () => {
  it('are two of many, and the run is taken by one of them', async () => {
    const workers = await openWorkers(8)
    await expect.poll(listeners).toBe(8)
    for (const { worker } of workers) worker.looks = 0
    await at.enqueue()
    const taken = (): number => workers.filter(({ worker }) => worker.runs.size > 0).length
    await expect.poll(taken).toBe(1)
    await expect.poll(() => workers.filter(({ worker }) => worker.calls > 0)).toHaveLength(2)
    expect(workers.filter(({ worker }) => worker.looks > 0).length).toBeLessThanOrEqual(2)
  })

  it('are those of a commit when that comes late: all, if none had room before', async () => {
    await at.sql.begin(async (tx) => {
      await tx`insert into executions (deployment_id, inputs) values (${at.automation.id}, '{}')`
      await openWorkers(1)
      await expect.poll(listeners).toBe(1)
    })
    await expect
      .poll(async () => (await at.sql`select from executions where status = 'running'`).count)
      .toBe(1)
  })

  it('are none when a call is passed on and no worker waits: that wakes nobody', async () => {
    const heard: string[] = []
    await new Promise<void>((onOpen) => {
      const hear = (which: string): void => void heard.push(which)
      listen(at.sql, { channel: 'execution_queued', hear, onOpen, log })
    })
    await leaveQueue(at.sql, `queue_${randomUUID()}`)
    await at.sql.notify('execution_queued', 'by another')
    await expect.poll(() => heard).toEqual(['by another'])
    await at.enqueue()
    await expect.poll(() => heard).toEqual(['by another', ''])
  })

  it('take each run at once while one has room, also when one of them dies', async () => {
    const property = fc.asyncProperty(steps, deaths, async (history, death) => {
      const workers = await openWorkers(WORKERS)
      await expect.poll(listeners).toBe(WORKERS)
      for (const [index, step] of history.entries()) {
        const victim = index === death.after ? workers[death.of]?.worker : undefined
        // Of its calls, it hears those that are under way and answers none.
        if (victim) victim.isDead = true
        if ('queued' in step) {
          await Promise.all(Array.from({ length: step.queued }, () => at.enqueue()))
        } else await workers[step.ended]?.end()
        await expect.poll(() => isStranded(workers), { timeout: 5000, interval: 5 }).toBe(false)
      }
    })
    await fc.assert(property.afterEach(closeWorkers), { numRuns: NUM_RUNS })
  }, 600_000)
})
