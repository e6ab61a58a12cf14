import type { LeasedRun } from '../../../../../services/platform/runs/run-queue.ts'
import type {
  Database,
  Queryable,
  Transaction,
} from '../../../../../services/shared/postgres/database.ts'

/**
 * Takes runs as the workers of schema version 47 do: one worker after the other, by looking at all
 * automations. They do so beside newer workers while a release is rolled out.
 */
export const takeAsBefore = (sql: Database, limit: number): Promise<FormerRun[]> =>
  sql.begin((tx) => takeInTurn(tx, limit))

/** The same in an open transaction. */
export async function takeInTurn(tx: Transaction, limit: number): Promise<FormerRun[]> {
  await tx`select pg_advisory_xact_lock(7310452118)`
  return take(tx, limit)
}

type FormerRun = Pick<LeasedRun, 'id' | 'leaseId' | 'lostAttempts' | 'deploymentId'>

const take = (sql: Queryable, limit: number) => sql<FormerRun[]>`
  ${choose(sql, limit)},
  taken as (
    update executions e set status = 'running', attempt = attempt + 1,
      lost_attempts = lost_attempts + (e.status = 'running')::int, lease_id = gen_random_uuid(),
      lease_expires_at = now() + interval '30 s', started_at = coalesce(started_at, now())
    from due where e.id = due.id
    returning e.id, e.lease_id, e.lost_attempts, e.deployment_id),
  turns as (
    insert into queue_turns
    select distinct deployment_id, (select clock_timestamp()) from taken
    on conflict (deployment_id) do update set taken_at = excluded.taken_at)
  select * from taken`

const choose = (sql: Queryable, limit: number) => sql`
  with busy as (
    select deployment_id, count(*) as running from executions
    where status = 'running' and lease_expires_at >= now() group by deployment_id),
  lines as (
    select d.id, d.organization_id, coalesce(d.concurrency_max, 2147483647) as concurrency_max,
      coalesce(b.running, 0) as running, t.taken_at,
      coalesce(sum(b.running) over organization, 0) as organization_running,
      max(t.taken_at) over organization as organization_taken_at,
      d.halted_at is null
        and (d.status not in ('Crew is Provisioning', 'Crew is Offline') or not exists (
          select from crew_deployments c
          where c.deployment_id = d.id and c.ended_at is null)) as is_open
    from deployments d left join busy b on b.deployment_id = d.id
      left join queue_turns t on t.deployment_id = d.id
    window organization as (partition by d.organization_id)),
  heads as (
    select l.*, e.id as execution_id, e.available_at,
      l.running + row_number() over (partition by l.id order by e.available_at) as turn
    from lines l cross join lateral (
      (select id, available_at from executions
        where deployment_id between l.id and l.id and status = 'queued'
          and available_at <= now()
        order by deployment_id, available_at limit ${limit})
      union all
      (select id, available_at from executions
        where deployment_id = l.id and status = 'running' and lease_expires_at < now()
          and lost_attempts + 1 < 3
        order by available_at limit ${limit})) e
    where l.is_open and l.running < l.concurrency_max),
  waiting as (
    select execution_id, available_at, organization_taken_at,
      organization_running + row_number() over (
        partition by organization_id
        order by turn, taken_at nulls first, available_at) as organization_turn
    from heads where turn <= concurrency_max),
  due as (
    select id from executions
    where id in (
        select execution_id from waiting
        order by organization_turn, organization_taken_at nulls first, available_at
        limit ${limit})
      and (status = 'queued' or (status = 'running' and lease_expires_at < now()))
    for update skip locked)`
