set local lock_timeout = '2s';

-- Who is called for a run: two workers that have room for it, rather than all. Each has a channel
-- of its own, and is here from the look that found nothing until it is called and has no room.

-- A worker that no longer looks is not called after 15 s. Lost with a crash of the server, after
-- which all workers look.
create unlogged table queue_listeners (
  channel text primary key check (channel ~ '^queue_[0-9a-f-]{36}$'),
  seen_at timestamptz not null
) with (fillfactor = 50);

-- Two, since one may die before it looks; the second one waits for the first to have looked. Where
-- none is known all are called: one may be about to enter itself while this transaction commits.
create function call_workers() returns void language plpgsql as $$
begin
  perform pg_notify(channel, case place when 2 then 'second' else '' end) from (
    select channel, row_number() over () as place from (
      select channel from queue_listeners where seen_at > clock_timestamp() - interval '15 s'
      order by random() limit 2) chosen) called;
  if not found then
    notify execution_queued;
  end if;
end $$;

-- For a worker that is called and has no room, or that stops: calls others instead.
create function leave_queue(listener text) returns void language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from queue_listeners where channel = listener;
  perform call_workers();
end $$;

-- A renewal of a lease writes no index: what is indexed is when to look whether it has run out,
-- which looks move on where it has not. A lease that is new, or ends earlier than before, is looked
-- at when it ends, whoever wrote it.

alter table executions add column lease_due_at timestamptz;

create function set_lease_due_at() returns trigger language plpgsql as $$
begin
  new.lease_due_at := new.lease_expires_at;
  return new;
end $$;

create trigger executions_lease_due before update of status, lease_expires_at on executions
  for each row when (new.status = 'running' and (old.status <> 'running'
    or old.lease_due_at is null or new.lease_expires_at < old.lease_due_at))
  execute function set_lease_due_at();
create trigger executions_lease_begun before insert on executions
  for each row when (new.status = 'running') execute function set_lease_due_at();

update executions set lease_due_at = lease_expires_at where status = 'running';
create index executions_lapsing on executions (lease_due_at) where status = 'running';
-- safe: the release before finds the few that are in progress by executions_running
drop index executions_leased;
-- Room for the next version of a row beside it.
alter table executions set (fillfactor = 70);
alter table run_steps_undated set (fillfactor = 50);

create or replace function make_run_day(of date) returns void language plpgsql as $$
declare
  parent text;
  part text;
begin
  foreach parent in array array[
    'execution_events', 'run_steps', 'run_payloads', 'run_artifacts'] loop
    part := parent || to_char(of, '_YYYYMMDD');
    execute format('create table %I (like %I including all) with (fillfactor = %s)',
      part, parent, case parent when 'run_steps' then 50 else 100 end);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)',
      parent, part, first_run_id(of), first_run_id(of + 1));
  end loop;
  perform make_contents_day(of);
  insert into run_days values (of);
end $$;

create or replace function queue_has_changed(lost_attempts_max int) returns boolean
  language plpgsql as $$
begin
  return exists (select from queue_changes)
    or exists (select from queue_lines where due_at <= clock_timestamp())
    or (select lease_due_at from executions
      where status = 'running' and lease_due_at < now()
        and (lease_expires_at >= now() or lost_attempts + 1 < lost_attempts_max)
      order by lease_due_at limit 1) is not null;
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
    update executions set
      status = case when lease_expires_at < now() then 'queued' else status end,
      lost_attempts = lost_attempts + (lease_expires_at < now())::int,
      lease_id = case when lease_expires_at >= now() then lease_id end,
      lease_expires_at = case when lease_expires_at >= now() then lease_expires_at end,
      lease_due_at = case when lease_expires_at >= now() then lease_expires_at end
    where id = any (array(
      select id from executions where status = 'running' and lease_due_at < now()
        and (lease_expires_at >= now() or lost_attempts + 1 < lost_attempts_max)
      order by lease_due_at limit 1000 for update skip locked));
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
create or replace function look_at_queue(lost_attempts_max int,
    out may_start boolean, out next_ms float8)
  language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
begin
  may_start := settle_queue(lost_attempts_max);
  if not may_start then
    next_ms := ceil(1000 * extract(epoch from least(
      (select due_at from queue_lines where due_at is not null order by due_at limit 1),
      (select lease_due_at from executions
        where status = 'running' and lease_due_at > clock_timestamp()
        order by lease_due_at limit 1)) - clock_timestamp()));
  end if;
end $$;

-- Where no run may start, the worker is entered. It has to look again then, after the commit: who
-- queued a run meanwhile could not see that it waits.
create function look_at_queue(lost_attempts_max int, listener text,
    out may_start boolean, out next_ms float8)
  language plpgsql as $$
declare
  seen timestamptz;
begin
  select l.may_start, l.next_ms into may_start, next_ms from look_at_queue(lost_attempts_max) l;
  if may_start then
    return;
  end if;
  select seen_at into seen from queue_listeners where channel = listener;
  if seen > clock_timestamp() - interval '5 s' then
    return;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  insert into queue_listeners values (listener, clock_timestamp())
    on conflict (channel) do update set seen_at = excluded.seen_at;
  if seen is null or seen < clock_timestamp() - interval '14 s' then
    next_ms := 0;
    delete from queue_listeners where seen_at < clock_timestamp() - interval '1 minute';
  end if;
end $$;

create or replace function notify_execution_queued() returns trigger language plpgsql as $$
begin
  perform call_workers();
  return null;
end $$;

create or replace function note_changed_deployment() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id) values (old.id, old.organization_id);
  perform call_workers();
  return null;
end $$;

create or replace function note_crew_deployment() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id)
  values (coalesce(new.deployment_id, old.deployment_id),
    coalesce(new.organization_id, old.organization_id));
  perform call_workers();
  return null;
end $$;

-- Those who look after crews are called for the ones that sleep, rather than for each run.
create or replace function note_queued_executions() returns trigger language plpgsql
  set enable_seqscan = off as $$
begin
  insert into queue_changes (deployment_id, organization_id, running)
  select deployment_id, organization_id, count(*) filter (where status = 'running')
  from added where status in ('queued', 'running') group by deployment_id, organization_id;
  perform pg_notify('crew_deployments', deployment_id::text) from (
    select distinct deployment_id from added a
    where (select asleep_since from crew_deployments
      where deployment_id = a.deployment_id and ended_at is null limit 1) is not null) sleeping;
  return null;
end $$;
