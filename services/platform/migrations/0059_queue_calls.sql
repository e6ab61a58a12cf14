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
