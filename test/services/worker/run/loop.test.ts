import { describe, expect, it } from 'vitest'
import type { LeasedRun } from '../../../../services/platform/runs/run-queue.ts'
import { createMetrics } from '../../../../services/shared/http/metrics.ts'
import { createApp } from '../../../../services/worker/app.ts'
import { gatheringAfter, startLoop } from '../../../../services/worker/run/loop.ts'
import type { LoopDeps } from '../../../../services/worker/run/loop.ts'
import { definition } from '../../../support/crew.ts'
import { silent } from '../harness.ts'

const run: LeasedRun = {
  id: '00000000-0000-4000-8000-000000000001',
  leaseId: '00000000-0000-4000-8000-000000000002',
  attempt: 1,
  lostAttempts: 0,
  inputs: {},
  queuedAt: new Date(),
  automationId: '00000000-0000-4000-8000-000000000003',
  deploymentId: 1,
  projectVersionId: 1,
  mayHaveSteps: false,
  automationName: 'Research',
  slug: 'research',
  organizationId: 1,
  url: null,
  crewAutomationId: '00000000-0000-4000-8000-000000000003',
  definition,
}

function loopWith(deps: Partial<LoopDeps<LeasedRun>>) {
  return startLoop({
    take: async () => [],
    run: async () => {},
    putBack: async () => {},
    concurrency: 2,
    pollMs: 60_000,
    log: silent,
    ...deps,
  })
}

describe('the loop of a worker', () => {
  it('looks again as soon as a run has ended, and asks for no more than its capacity', async () => {
    const limits: number[] = []
    const ends: (() => void)[] = []
    const loop = loopWith({
      async take(limit) {
        limits.push(limit)
        return limits.length <= 2 ? [run] : []
      },
      run: () => new Promise((resolve) => ends.push(resolve)),
    })
    await expect.poll(() => limits).toEqual([2])
    loop.wake()
    await expect.poll(() => limits).toEqual([2, 1])
    loop.wake()
    ends[0]?.()
    await expect.poll(() => limits).toEqual([2, 1, 1])
    expect(loop.running()).toBe(1)
    ends[1]?.()
    await loop.stop(1000)
  })

  it('follows runs that end together with one look', async () => {
    const limits: number[] = []
    const ends: (() => void)[] = []
    const loop = loopWith({
      concurrency: 5,
      async take(limit) {
        limits.push(limit)
        return limits.length === 1 ? [run, run, run] : []
      },
      run: () => new Promise((resolve) => ends.push(resolve)),
    })
    await expect.poll(() => ends).toHaveLength(3)
    for (const end of ends) end()
    await expect.poll(() => limits).toEqual([5, 5])
    await loop.stop(1000)
    expect(limits).toEqual([5, 5])
  })

  it('fills several places at once while there is more work than places', async () => {
    const limits: number[] = []
    const ends: (() => void)[] = []
    const loop = loopWith({
      concurrency: 4,
      gatherMs: 60_000,
      async take(limit) {
        limits.push(limit)
        return Array.from({ length: limits.length === 1 ? limit : 0 }, () => run)
      },
      run: () => new Promise((resolve) => ends.push(resolve)),
    })
    await expect.poll(() => ends).toHaveLength(4)
    ends[0]?.()
    await expect.poll(loop.running).toBe(3)
    ends[1]?.()
    await expect.poll(() => limits.slice(0, 2)).toEqual([4, 2])
    // Now that there is no more, each place counts.
    ends[2]?.()
    await expect.poll(() => limits.at(-1)).toBe(3)
    ends[3]?.()
    await loop.stop(1000)
  })

  it('lets places wait for each other for longer while looks are slow, within a bound', () => {
    const gathered = [0, 1, 10, 25, 5000].map((lookMs) => gatheringAfter(lookMs, 25))
    expect(gathered.map(({ forMs }) => forMs)).toEqual([25, 25, 80, 200, 200])
    expect(gathered.map(({ isForAll }) => isForAll)).toEqual([false, false, false, true, true])
    expect(gatheringAfter(5000, 0)).toEqual({ forMs: 0, isForAll: false })
  })

  it('fills all places at once while looks are slow, and takes no call meanwhile', async () => {
    const limits: number[] = []
    const ends: (() => void)[] = []
    const loop = loopWith({
      concurrency: 4,
      gatherMs: 100,
      async take(limit) {
        limits.push(limit)
        await new Promise((resolve) => setTimeout(resolve, 100))
        return Array.from({ length: limits.length === 1 ? limit : 0 }, () => run)
      },
      run: () => new Promise((resolve) => ends.push(resolve)),
    })
    await expect.poll(() => ends, { interval: 1 }).toHaveLength(4)
    // As soon as the look has ended.
    await new Promise(setImmediate)
    for (const end of ends.slice(0, 3)) end()
    await new Promise(setImmediate)
    expect(loop.running()).toBe(1)
    loop.call('')
    loop.wake()
    ends[3]?.()
    await expect.poll(() => limits.length, { interval: 1 }).toBeGreaterThan(1)
    await loop.stop(1000)
    expect(limits.slice(0, 2)).toEqual([4, 4])
  })

  it('looks again when it was told that there will be something', async () => {
    let looks = 0
    const loop = loopWith({
      async take(_, rest) {
        looks += 1
        rest(looks < 3 ? 1 : Infinity)
        return []
      },
    })
    await expect.poll(() => looks).toBe(3)
    await loop.stop(1000)
    expect(looks).toBe(3)
  })

  it('goes on when the queue cannot be read, and when a run raises', async () => {
    let looks = 0
    const loop = loopWith({
      pollMs: 1,
      async take() {
        looks += 1
        if (looks === 1) throw new Error('the database is unavailable')
        return looks === 2 ? [run] : []
      },
      run: () => Promise.reject(new Error('unforeseen')),
    })
    await expect.poll(() => looks).toBeGreaterThan(3)
    expect(loop.running()).toBe(0)
    await loop.stop(1000)
  })

  it('tells its runs to pause at once, and to let go when the time to drain is over', async () => {
    const told: string[] = []
    let looks = 0
    const loop = loopWith({
      async take() {
        looks += 1
        return looks === 1 ? [run] : []
      },
      run: (_, { pause, drain }) =>
        new Promise((resolve) => {
          pause.addEventListener('abort', () => told.push('pause'))
          drain.addEventListener('abort', () => {
            told.push('drain')
            resolve()
          })
        }),
    })
    await expect.poll(loop.running).toBe(1)
    await loop.stop(20)
    expect([told, looks]).toEqual([['pause', 'drain'], 1])
  })
})

describe('a call that few workers hear', () => {
  const openLoop = (concurrency: number, pass = (): Promise<void> => Promise.resolve()) => {
    const passed: number[] = []
    const ends: (() => void)[] = []
    let waiting = 0
    const loop = loopWith({
      concurrency,
      async take(limit) {
        const count = Math.min(limit, waiting)
        waiting -= count
        return Array.from({ length: count }, () => run)
      },
      passOn() {
        passed.push(waiting)
        return pass()
      },
      run: () => new Promise((resolve) => ends.push(resolve)),
    })
    return { loop, passed, ends, queue: (count: number) => (waiting += count) }
  }

  it('is passed on by a worker that has no room, or fills all of it', async () => {
    const { loop, passed, ends, queue } = openLoop(2)
    queue(5)
    loop.call('')
    await expect.poll(() => passed).toEqual([3])
    loop.call('')
    expect(passed).toEqual([3, 3])
    for (const end of ends.splice(0)) end()
    await expect.poll(() => ends).toHaveLength(2)
    expect(passed).toEqual([3, 3])
    for (const end of ends.splice(0)) end()
    await expect.poll(() => ends).toHaveLength(1)
    for (const end of ends.splice(0)) end()
    await loop.stop(1000)
  })

  it('is passed on together with others that come while one is passed on', async () => {
    const passing: (() => void)[] = []
    const { loop, ends, queue } = openLoop(1, () => new Promise((done) => passing.push(done)))
    queue(1)
    loop.wake()
    await expect.poll(loop.running).toBe(1)
    for (const which of ['', 'second', '']) loop.call(which)
    expect(passing).toHaveLength(1)
    passing[0]?.()
    await expect.poll(() => passing).toHaveLength(2)
    passing[1]?.()
    for (const end of ends) end()
    const stopped = loop.stop(1000)
    await expect.poll(() => passing).toHaveLength(3)
    passing[2]?.()
    await stopped
    expect(passing).toHaveLength(3)
  })

  it('ends where nothing is left, and is passed on by a worker that stops', async () => {
    const { loop, passed, queue, ends } = openLoop(2)
    await expect.poll(loop.running).toBe(0)
    queue(1)
    loop.call('')
    await expect.poll(loop.running).toBe(1)
    expect(passed).toEqual([])
    const stopped = loop.stop(1000)
    await expect.poll(() => passed).toEqual([0])
    loop.call('')
    expect(passed).toEqual([0, 0])
    for (const end of ends) end()
    await stopped
  })
})

describe('a loop that is stopped while it looks at the queue', () => {
  it('puts back what the look brings, and looks no further', async () => {
    let bring: ((found: LeasedRun[]) => void) | undefined
    const done: string[] = []
    const loop = loopWith({
      take: () => new Promise((resolve) => (bring = resolve)),
      run: async () => void done.push('run'),
      putBack: async ({ id }) => void done.push(id),
    })
    await expect.poll(() => bring).toBeDefined()
    const stopped = loop.stop(60_000)
    bring?.([run])
    await stopped
    expect(done).toEqual([run.id])
  })
})

describe('a worker whose loop hangs', () => {
  it('says so, that it is restarted', async () => {
    const idle = { due: 0, oldestSeconds: 0, heldBack: 0, running: 0, startableSeconds: 0 }
    const app = createApp({
      log: silent,
      registry: createMetrics(),
      check: async () => {},
      queue: async () => idle,
      isAlive: () => false,
    })
    expect((await app.request('/health/live')).status).toBe(503)
    expect((await app.request('/health')).status).toBe(503)
  })
})
