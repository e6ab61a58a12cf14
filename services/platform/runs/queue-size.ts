import type { Queryable } from '../../shared/postgres/database.ts'

/** The runs that wait for a worker. */
export interface QueueSize {
  /** Runs that are due now. */
  readonly due: number
  /** The age of the first of them; 0 when there is none. */
  readonly oldestSeconds: number
  /** The runs that wait for another run of their automation to end, because of its limit. */
  readonly heldBack: number
  /** Runs that workers have in hand. */
  readonly running: number
  /** The age of the first run that only waits for a worker; 0 when there is none. */
  readonly startableSeconds: number
}

/** Measures the runs that wait for a worker, and those that one has. */
export async function measureQueue(sql: Queryable): Promise<QueueSize> {
  const [size] = await sql<[QueueSize]>`
    with lines as (
      select e.deployment_id,
        count(*) filter (where e.status = 'queued' and e.available_at <= now()) as due,
        count(*) filter (where e.status = 'running') as running,
        min(e.available_at) filter (where e.status = 'queued' and e.available_at <= now()) as oldest
      from executions e where e.status in ('queued', 'running') group by e.deployment_id)
    select coalesce(sum(l.due), 0)::int as due,
      coalesce(extract(epoch from now() - min(l.oldest)), 0)::float8 as oldest_seconds,
      coalesce(sum(greatest(0, l.due - greatest(0, d.concurrency_max - l.running)))
        filter (where d.concurrency_max is not null), 0)::int as held_back,
      coalesce(sum(l.running), 0)::int as running,
      coalesce(extract(epoch from now() - min(l.oldest) filter (
        where d.concurrency_max is null or l.running < d.concurrency_max)), 0)::float8
        as startable_seconds
    from lines l join deployments d on d.id = l.deployment_id`
  return size
}
