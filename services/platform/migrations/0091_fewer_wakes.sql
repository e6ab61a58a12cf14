-- Who passes a call on calls workers that wait, and not all where none waits: for a notification
-- PostgreSQL wakes every process that listens to anything, and fifty workers without room passed on
-- each call that they had not heard in time. Of those who have room, none is missed: the run that
-- is passed on is committed, and a worker that enters itself looks again after that.

create function call_listeners() returns boolean language plpgsql as $$
begin
  perform pg_notify(channel, case place when 2 then 'second' else '' end) from (
    select channel, row_number() over () as place from (
      select channel from queue_listeners where seen_at > clock_timestamp() - interval '15 s'
      order by random() limit 2) chosen) called;
  return found;
end $$;

-- Here all are called where none is known: the run may be committed long after this, and one may
-- enter itself meanwhile.
create or replace function call_workers() returns void language plpgsql as $$
begin
  if not call_listeners() then
    notify execution_queued;
  end if;
end $$;

create or replace function leave_queue(listener text) returns void language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from queue_listeners where channel = listener;
  perform call_listeners();
end $$;

-- As before; where no run is followed and there is no webhook, that is seen at once, instead of for
-- each run.
create or replace function tell_execution_events() returns trigger language plpgsql as $$
declare
  followed uuid[];
  has_webhooks boolean;
  told record;
begin
  if not exists (select from followed_runs) and not exists (select from webhooks) then
    return null;
  end if;
  -- `limit`, because for `exists` it would read all runs.
  select array_agg(w.id) filter (where (
      select true from followed_runs where run_id = w.id and until > now() limit 1)),
    bool_or((
      select true from webhooks h
      where h.deployment_id = e.deployment_id and h.run_id is null limit 1))
    into followed, has_webhooks
    from (select distinct execution_id as id from written) w cross join lateral (
      select deployment_id from executions where id = w.id offset 0) e;
  if followed is not null then
    perform pg_notify('run_changed', id || ' event') from unnest(followed) id;
  end if;
  if has_webhooks is null then
    return null;
  end if;
  for told in
    select e.run, w.event, w.number, w.attempt, w.recorded_at
    from written w cross join lateral (
      select x as run, x.deployment_id from executions x where id = w.execution_id offset 0) e
    where exists (
      select from webhooks h where h.deployment_id = e.deployment_id and h.run_id is null)
    order by w.execution_id, w.number
  loop
    perform tell_webhooks(told.run, told.event,
      jsonb_build_object('number', told.number, 'attempt', told.attempt), told.recorded_at);
  end loop;
  return null;
end $$;
