-- What the triggers of events do for each of them, done once for a statement; changes are announced
-- of followed runs alone.

set local lock_timeout = '2s';

create or replace function number_execution_event() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan as $$
begin
  -- Whoever else appends to the run, or ends it, waits: the numbers are in the order of the
  -- commits, so that a reader who has seen one misses none before it. Who has locked the run in
  -- the same statement says so by a 0.
  if new.number is null then
    perform from executions where id = new.execution_id for no key update;
  end if;
  select coalesce(max(number), 0) + 1 into new.number
    from execution_events where execution_id = new.execution_id;
  return new;
end $$;

create or replace function tell_execution_events() returns trigger language plpgsql as $$
declare
  followed uuid[];
  has_webhooks boolean;
  told record;
begin
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
