import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { countRuns } from '../../../../services/platform/runs/run-list.ts'
import {
  completeRun,
  failRun,
  giveUpLostRuns,
  releaseRun,
  renewLease,
  takeRuns,
} from '../../../../services/platform/runs/run-queue.ts'
import { readEvents } from '../../../../services/platform/runs/run-events.ts'
import { recordProgress } from '../../../../services/platform/runs/record-progress.ts'
import type { Queryable } from '../../../../services/shared/postgres/database.ts'
import { recordEvent } from '../../../support/record-event.ts'
import {
  findRun,
  forgetKickoffKeys,
  kickoff,
  stopRun,
} from '../../../../services/platform/runs/runs.ts'
import { listProgress } from '../../../../services/platform/runs/progress.ts'
import { definition } from '../../../support/crew.ts'
import { useOneAutomation } from '../one-automation.ts'

const at = useOneAutomation()

const expireLeases = () =>
  at.sql`
    update executions set lease_expires_at = now() - interval '1 second' where status = 'running'`

describe('the queue of runs', () => {
  it('gives a run to one worker only, however many ask at once', async () => {
    for (let i = 0; i < 20; i += 1) await at.enqueue()
    const batches = await Promise.all(Array.from({ length: 8 }, () => takeRuns(at.sql, 5)))
    const ids = batches.flat().map(({ id }) => id)
    expect(ids).toHaveLength(20)
    expect(new Set(ids).size).toBe(20)
  })

  it('hands over the runs that it has taken when it cannot take the rest', async () => {
    await at.sql`
      create function fail_at_ten() returns trigger language plpgsql as $$
      begin
        if (select count(*) from executions where status = 'running') >= 10 then
          raise 'the disk is full';
        end if;
        return new;
      end $$`
    await at.sql`
      create trigger fails_at_ten before update on executions
      for each row when (new.status = 'running') execute function fail_at_ten()`
    for (let i = 0; i < 15; i += 1) await at.enqueue()
    expect(await takeRuns(at.sql, 15)).toHaveLength(10)
    await expect(takeRuns(at.sql, 5)).rejects.toThrow('the disk is full')
    await at.sql`drop function fail_at_ten cascade`
    expect(await takeRuns(at.sql, 15)).toHaveLength(5)
  })

  it('hands over what a worker needs: inputs, the definition, where the crew is', async () => {
    await at.enqueue({ topic: 'whales' })
    const taken = await at.takeOne()
    expect(taken).toMatchObject({
      inputs: { topic: 'whales' },
      attempt: 1,
      url: 'http://127.0.0.1:9',
      automationId: at.automation.automationId,
      definition,
    })
  })

  it('gives the run of a dead worker to another, and lets only the new one finish it', async () => {
    const id = await at.enqueue()
    const first = await at.takeOne()
    expect(await takeRuns(at.sql, 1)).toEqual([])
    await expireLeases()
    const second = await at.takeOne()
    expect(second).toMatchObject({ id, attempt: 2 })
    const result = { output: 'done', usage: { inputTokens: 1, outputTokens: 2 } }
    expect(await completeRun(at.sql, first, { ...result, output: 'late' })).toBe(false)
    expect(await renewLease(at.sql, first)).toBe(false)
    expect(await completeRun(at.sql, second, result)).toBe(true)
    expect(await completeRun(at.sql, second, { ...result, output: 'again' })).toBe(false)
    expect(await findRun(at.sql, at.automation.id, id)).toMatchObject({
      status: 'completed',
      output: 'done',
      usage: { inputTokens: 1, outputTokens: 2 },
    })
  })

  it('keeps a run that its worker renews', async () => {
    await at.enqueue()
    const taken = await at.takeOne()
    await at.sql`update executions set lease_expires_at = now() + interval '1 second'`
    expect(await renewLease(at.sql, taken)).toBe(true)
    expect(await takeRuns(at.sql, 1)).toEqual([])
  })

  it('writes no index when a lease is renewed or a step ends', async () => {
    await at.enqueue()
    const lease = await at.takeOne()
    const step = {
      kind: 'tool',
      name: 'a',
      path: ['a'],
      startedAt: '2026-01-01T00:00:00Z',
    } as const
    const report = (tx: Queryable, end: object) => {
      const steps = [{ ...step, key: 'a', state: 'started' as const, ...end }]
      return recordProgress(tx, lease, { events: [], steps })
    }
    await report(at.sql, {})
    // With what this connection did before and has not told yet.
    const count = async (tx: Queryable): Promise<number[]> => {
      const [row] = await tx<[{ all: number; hot: number }]>`
        select sum(pg_stat_get_xact_tuples_updated(oid))::int as all,
          sum(pg_stat_get_xact_tuples_hot_updated(oid))::int as hot
        from pg_class where relname ~ '^(executions|run_steps_.*)$' and relkind = 'r'`
      return [row.all, row.hot]
    }
    const [all = 0, hot = 0] = await at.sql.begin(async (tx) => {
      const before = await count(tx)
      for (let times = 0; times < 3; times += 1) await renewLease(tx, lease)
      await report(tx, { state: 'finished', endedAt: step.startedAt, result: 'b' })
      return (await count(tx)).map((each, index) => each - (before[index] ?? 0))
    })
    expect([all, hot]).toEqual([4, 4])
  })

  it('notices a lost worker that had renewed its lease, and only then', async () => {
    const id = await at.enqueue()
    const lease = await at.takeOne()
    await at.sql`update executions set lease_due_at = now() - interval '1 second'`
    expect(await takeRuns(at.sql, 1)).toEqual([])
    expect(await renewLease(at.sql, lease)).toBe(true)
    await expireLeases()
    expect(await at.takeOne()).toMatchObject({ id, attempt: 2, lostAttempts: 1 })
  })

  it('gives a run up when its workers were lost three times', async () => {
    const id = await at.enqueue()
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect(await at.takeOne()).toMatchObject({ id, attempt })
      await expireLeases()
    }
    expect(await takeRuns(at.sql, 1)).toEqual([])
    expect(await giveUpLostRuns(at.sql)).toMatchObject([
      {
        id,
        attempt: 3,
        automationId: at.automation.automationId,
        failure: { code: 'worker_lost' },
      },
    ])
    expect(await findRun(at.sql, at.automation.id, id)).toMatchObject({
      status: 'error',
      error: { code: 'worker_lost' },
    })
  })

  it('never gives a run up that was handed over, however often', async () => {
    const id = await at.enqueue()
    for (let attempt = 1; attempt <= 10; attempt += 1) {
      const taken = await at.takeOne()
      expect(taken).toMatchObject({ id, attempt, lostAttempts: 0 })
      expect(await releaseRun(at.sql, taken)).toBe(true)
    }
    await at.takeOne()
    await expireLeases()
    expect(await giveUpLostRuns(at.sql)).toEqual([])
    expect(await at.takeOne()).toMatchObject({ attempt: 12, lostAttempts: 1 })
  })

  it('takes a released run again after its delay', async () => {
    await at.enqueue()
    const taken = await at.takeOne()
    expect(await releaseRun(at.sql, taken, 60)).toBe(true)
    expect(await takeRuns(at.sql, 1)).toEqual([])
    await at.sql`update executions set available_at = now()`
    expect(await at.takeOne()).toMatchObject({ attempt: 2, lostAttempts: 0 })
  })

  it('says when a run becomes due, or a worker counts as lost', async () => {
    const seconds: number[] = []
    const look = () =>
      takeRuns(at.sql, 2, {
        channel: `queue_${randomUUID()}`,
        onEmpty: (nextMs) => seconds.push(Math.ceil(nextMs / 10_000) * 10),
      })
    await look()
    await at.enqueue()
    const [taken] = await look()
    if (!taken) throw new Error('nothing was taken')
    expect(await releaseRun(at.sql, taken, 60)).toBe(true)
    await look()
    expect(seconds).toEqual([Infinity, 30, 60])
  })

  it('keeps the place in line of a run that was handed over', async () => {
    const first = await at.enqueue()
    const taken = await at.takeOne()
    await at.enqueue()
    await releaseRun(at.sql, taken)
    expect(await at.takeOne()).toMatchObject({ id: first })
  })

  it('stores events in order, each once, and none of a worker that lost the run', async () => {
    const id = await at.enqueue()
    const lost = await at.takeOne()
    await recordEvent(at.sql, lost, { position: 0, event: { type: 'crew_started' } })
    await expireLeases()
    const taken = await at.takeOne()
    await recordEvent(at.sql, lost, { position: 1, event: { type: 'too_late' } })
    await recordEvent(at.sql, taken, { position: 1, event: { type: 'task_started', task: 'a' } })
    await recordEvent(at.sql, taken, { position: 0, event: { type: 'crew_started' } })
    await recordEvent(at.sql, taken, { position: 0, event: { type: 'crew_started' } })
    const progress = await listProgress(at.sql, id, 10)
    expect(progress.map(({ attempt, event }) => [attempt, event.type])).toEqual([
      [1, 'crew_started'],
      [2, 'crew_started'],
      [2, 'task_started'],
    ])
  })

  it('numbers events without gaps, whoever writes beside its worker', async () => {
    await at.enqueue()
    const run = await at.takeOne()
    const note = (...positions: number[]) => {
      const events = positions.map((position) => ({ position, event: { type: 'noted' } }))
      return recordProgress(at.sql, run, { events, steps: [] })
    }
    await note(0, 1)
    const written = await at.sql.begin(async (tx) => {
      // As the programs of the release before, and whoever answers a step.
      await tx`
        insert into execution_events (execution_id, attempt, position, event)
        values (${run.id}, ${run.attempt}, 9, '{"type": "answered"}')`
      const waiting = note(0, 1, 2, 3)
      const blocked = () => at.sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(async () => (await blocked()).count).toBe(1)
      return { waiting }
    })
    expect(await written.waiting).toBe(true)
    const { events } = await readEvents(at.sql, run.id, { after: 0, limit: 10 })
    expect(events.map(({ number, event }) => `${number} ${event.type}`)).toEqual([
      '1 noted',
      '2 noted',
      '3 answered',
      '4 noted',
      '5 noted',
    ])
  })

  it('stops a queued or running run, and the worker learns it at the next heartbeat', async () => {
    const id = await at.enqueue()
    const taken = await at.takeOne()
    expect(await stopRun(at.sql, id)).toBe(true)
    expect(await stopRun(at.sql, id)).toBe(false)
    expect(await renewLease(at.sql, taken)).toBe(false)
    expect(await failRun(at.sql, taken, { code: 'x', message: 'x' })).toBe(false)
    expect(await countRuns(at.sql, { organizationId: at.automation.organizationId })).toMatchObject(
      {
        stopped: 1,
        running: 0,
      },
    )
  })
})

describe('kickoff with an idempotency key (SPEC 4.4)', () => {
  it('starts one run for two identical requests at once', async () => {
    const request = { deploymentId: at.automation.id, inputs: { a: 1 }, idempotencyKey: 'k1' }
    const ids = await Promise.all(Array.from({ length: 5 }, () => kickoff(at.sql, request)))
    expect(new Set(ids).size).toBe(1)
    expect(await countRuns(at.sql, { organizationId: at.automation.organizationId })).toMatchObject(
      {
        queued: 1,
      },
    )
  })

  it('refuses the key with other inputs', async () => {
    const request = { deploymentId: at.automation.id, idempotencyKey: 'k2' }
    await kickoff(at.sql, { ...request, inputs: { a: 1 } })
    await expect(kickoff(at.sql, { ...request, inputs: { a: 2 } })).rejects.toMatchObject({
      code: 'unprocessable',
    })
  })

  it('forgets the key after 24 hours', async () => {
    const request = { deploymentId: at.automation.id, inputs: {}, idempotencyKey: 'k3' }
    const first = await kickoff(at.sql, request)
    await at.sql`update kickoff_keys set created_at = now() - interval '25 hours'`
    expect(await kickoff(at.sql, request)).not.toBe(first)
  })

  it('leaves no old key behind', async () => {
    const request = { deploymentId: at.automation.id, inputs: {} }
    await kickoff(at.sql, { ...request, idempotencyKey: 'old' })
    await at.sql`update kickoff_keys set created_at = now() - interval '25 hours'`
    await kickoff(at.sql, { ...request, idempotencyKey: 'young' })
    expect(await forgetKickoffKeys(at.sql)).toBeGreaterThan(0)
    expect([...(await at.sql`select key from kickoff_keys`)]).toEqual([{ key: 'young' }])
    expect(await forgetKickoffKeys(at.sql)).toBe(0)
  })
})
