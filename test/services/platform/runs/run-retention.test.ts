import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deleteExpiredRuns } from '../../../../services/platform/runs/run-retention.ts'
import { RUN_STATUSES, kickoff } from '../../../../services/platform/runs/runs.ts'
import type { RunStatus } from '../../../../services/platform/runs/runs.ts'
import { useOneAutomation } from '../one-automation.ts'

const at = useOneAutomation()

interface Run {
  readonly status: RunStatus
  /** Since it was queued and, if it is over, since it ended. */
  readonly ageDays: number
}

const ONGOING: readonly RunStatus[] = ['queued', 'running', 'waiting']
const isOver = ({ status }: Run): boolean => !ONGOING.includes(status)

/** A run without a day, as it would be found in the database that many days later. */
async function insert(run: Run): Promise<string> {
  const { status, ageDays } = run
  const then = at.sql`now() - make_interval(days => ${ageDays})`
  const [{ id }] = await at.sql<[{ id: string }]>`
    insert into executions (id, deployment_id, inputs, status, queued_at, finished_at, output,
      error, lease_id, lease_expires_at)
    values (gen_random_uuid(), ${at.automation.id}, '{}', ${status}, ${then},
      ${isOver(run) ? then : null},
      ${status === 'completed' ? 'done' : null},
      ${status === 'error' ? at.sql`'{"code":"x","message":"x"}'::jsonb` : null},
      ${status === 'running' ? at.sql`gen_random_uuid()` : null},
      ${status === 'running' ? then : null})
    returning id`
  await at.sql`
    insert into execution_events (execution_id, attempt, position, event)
    values (${id}, 1, 0, '{"type":"crew_started"}'), (${id}, 2, 0, '{"type":"crew_started"}')`
  return id
}

async function deleteAll(days: number, batchSize: number): Promise<number> {
  let deleted = 0
  for (;;) {
    const count = await deleteExpiredRuns(at.sql, { days, batchSize })
    expect(count).toBeLessThanOrEqual(batchSize)
    if (count === 0) return deleted
    deleted += count
  }
}

const anyRun = fc.record({
  status: fc.constantFrom(...RUN_STATUSES),
  ageDays: fc.integer({ min: 0, max: 200 }),
})

describe('the retention of runs', () => {
  it.each<[RunStatus, number, 'kept' | 'deleted']>([
    ['completed', 91, 'deleted'],
    ['completed', 89, 'kept'],
    ['error', 91, 'deleted'],
    ['stopped', 91, 'deleted'],
    ['queued', 400, 'kept'],
    ['running', 400, 'kept'],
    ['waiting', 400, 'kept'],
  ])('of 90 days: a run that is %s for %i days is %s', async (status, ageDays, fate) => {
    await insert({ status, ageDays })
    expect(await deleteAll(90, 10)).toBe(fate === 'deleted' ? 1 : 0)
  })

  it('deletes in batches exactly the expired runs, with all that belongs to them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRun, { maxLength: 12 }),
        fc.integer({ min: 1, max: 150 }),
        fc.integer({ min: 1, max: 5 }),
        async (runs, days, batchSize) => {
          await at.sql`delete from executions`
          const kept: string[] = []
          for (const run of runs) {
            const id = await insert(run)
            if (!isOver(run) || run.ageDays < days) kept.push(id)
          }
          expect(await deleteAll(days, batchSize)).toBe(runs.length - kept.length)
          const left = await at.sql<{ id: string }[]>`select id from executions`
          expect(left.map(({ id }) => id).toSorted()).toEqual(kept.toSorted())
          const [events] = await at.sql<[{ count: number }]>`
            select count(*)::int as count from execution_events`
          expect(events.count).toBe(kept.length * 2)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('deletes the idempotency key of a run with it', async () => {
    const { id: deploymentId } = at.automation
    await kickoff(at.sql, { deploymentId, inputs: {}, idempotencyKey: 'order-1' })
    await at.sql`
      update executions set status = 'stopped', finished_at = now() - interval '93 days'`
    expect(await deleteAll(90, 10)).toBe(1)
    expect(await at.sql`select from kickoff_keys`).toHaveLength(0)
  })

  it('leaves it to the worker that is at it', async () => {
    await insert({ status: 'stopped', ageDays: 91 })
    const deleted = await at.sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(7310452119)`
      return deleteExpiredRuns(at.sql, { days: 90 })
    })
    expect(deleted).toBe(0)
    expect(await deleteExpiredRuns(at.sql, { days: 90 })).toBe(1)
  })

  it('finds what it deletes, and all that hangs on it, by indexes', async () => {
    const plan = await at.sql.begin(async (tx) => {
      await tx`set local enable_seqscan = off`
      return tx<{ queryPlan: string }[]>`
        explain select id from executions where finished_at < now() order by finished_at limit 10`
    })
    expect(JSON.stringify(plan)).toContain('executions_finished')
    const [keys] = await at.sql`select from pg_indexes where indexname = 'kickoff_keys_execution'`
    expect(keys).toBeDefined()
  })
})
