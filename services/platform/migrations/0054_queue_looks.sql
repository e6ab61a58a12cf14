-- Fewer and cheaper looks at the queue: a worker that waited for another one to count counts
-- nothing again, and one that finds nothing to start learns when to look next.

-- Returns true when something is to be counted. Without settings of its own: it is planned under
-- those of the functions that call it.
create function queue_has_changed(lost_attempts_max int) returns boolean language plpgsql as $$
begin
  return exists (select from queue_changes)
    or exists (select from queue_lines where due_at <= clock_timestamp())
    or (select lease_expires_at from executions
      where status = 'running' and lease_expires_at < now()
        and lost_attempts + 1 < lost_attempts_max
      order by lease_expires_at limit 1) is not null;
end $$;

create or replace function settle_queue(lost_attempts_max int) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_sort = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  at timestamptz;
  counted int;
  changed int[];
begin
  for round in 1..10 loop
    exit when not queue_has_changed(lost_attempts_max);
    perform set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7310452133);
    -- Whoever had the lock before may have counted all of it.
    exit when not queue_has_changed(lost_attempts_max);
    update executions set status = 'queued', lost_attempts = lost_attempts + 1,
      lease_id = null, lease_expires_at = null
    where id = any (array(
      select id from executions where status = 'running' and lease_expires_at < now()
        and lost_attempts + 1 < lost_attempts_max
      order by lease_expires_at limit 1000 for update skip locked));
    at := clock_timestamp();
    with changes as (
        delete from queue_changes where ctid = any (array(
          select ctid from queue_changes limit 100000))
        returning *),
      due as (
        select deployment_id, organization_id, 0, null::timestamptz from queue_lines
        where due_at <= at order by due_at limit 1000),
      touched as (
        select deployment_id, organization_id, sum(running)::int as running,
          max(started_at) as started_at
        from (select * from changes union all select * from due) each
        group by deployment_id, organization_id),
      counts as (
        insert into queue_organizations as o
        select organization_id, sum(running), max(started_at) from touched group by organization_id
        on conflict (organization_id) do update set running = o.running + excluded.running,
          started_at = greatest(o.started_at, excluded.started_at)),
      gone as (
        delete from queue_lines where deployment_id = any (array(
          select deployment_id from touched t
          where (select true from deployments where id = t.deployment_id limit 1) is null))),
      lines as (
        insert into queue_lines
        select d.id, d.organization_id, now.running, greatest(l.started_at, t.started_at),
          case when first.available_at <= at and o.id is not null
            and (o.concurrency_max is null or now.running < o.concurrency_max)
            then first.available_at end,
          case when first.available_at > at then first.available_at end
        from touched t
          cross join lateral (
            select id, organization_id from deployments where id = t.deployment_id offset 0) d
          left join lateral (
            select id, concurrency_max from open_deployments where id = d.id offset 0) o on true
          left join lateral (
            select running, started_at from queue_lines
            where deployment_id = t.deployment_id offset 0) l on true
          cross join lateral (select coalesce(l.running, 0) + t.running as running) now
          left join lateral (
            -- By the index of lines alone, which `=` would not ask for: by its order.
            select available_at from executions
            where deployment_id between d.id and d.id and status = 'queued'
            order by deployment_id, available_at limit 1) first on true
        on conflict (deployment_id) do update set running = excluded.running,
          started_at = excluded.started_at, waiting_since = excluded.waiting_since,
          due_at = excluded.due_at)
    select (select count(*) from changes), array(select distinct organization_id from touched)
    into counted, changed;
    update queue_organizations o set waiting_since = (
      select waiting_since from queue_lines
      where organization_id = o.organization_id and waiting_since is not null
      order by waiting_since limit 1)
    where organization_id = any (changed);
    exit when counted < 100000;
  end loop;
  return exists (select from queue_organizations where waiting_since is not null);
end $$;

-- Brings the lines up to date. Where no run may start, `next_ms` says when one becomes due, or its
-- worker counts as lost; null: nothing is known to come.
create function look_at_queue(lost_attempts_max int, out may_start boolean, out next_ms float8)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
begin
  may_start := settle_queue(lost_attempts_max);
  if not may_start then
    next_ms := ceil(1000 * extract(epoch from least(
      (select due_at from queue_lines where due_at is not null order by due_at limit 1),
      (select lease_expires_at from executions
        where status = 'running' and lease_expires_at > clock_timestamp()
        order by lease_expires_at limit 1)) - clock_timestamp()));
  end if;
end $$;

-- Who opens a line wakes the workers: they look every ten seconds only.

create or replace function note_changed_deployment() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id) values (old.id, old.organization_id);
  notify execution_queued;
  return null;
end $$;

create or replace function note_crew_deployment() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id)
  values (coalesce(new.deployment_id, old.deployment_id),
    coalesce(new.organization_id, old.organization_id));
  notify execution_queued;
  return null;
end $$;

-- What was planned while a table was small is used when it is large: rows of a run are looked up.

alter function journal_of_run(uuid) set enable_seqscan = off;
alter function tell_execution_status() set enable_seqscan = off;

create or replace function tell_execution_events() returns trigger language plpgsql as $$
declare
  told record;
begin
  perform pg_notify('run_changed', execution_id || ' event')
    from (select distinct execution_id from written) runs;
  for told in
    select e.run, w.event, w.number, w.attempt, w.recorded_at
    from written w cross join lateral (
      select x as run, x.deployment_id from executions x where id = w.execution_id offset 0) e
    where exists (select from webhooks h where h.deployment_id = e.deployment_id)
    order by w.execution_id, w.number
  loop
    perform tell_webhooks(told.run, told.event,
      jsonb_build_object('number', told.number, 'attempt', told.attempt), told.recorded_at);
  end loop;
  return null;
end $$;
