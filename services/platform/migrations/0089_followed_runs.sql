set local lock_timeout = '2s';

-- The runs that somebody follows: their changes alone are announced. For a notification PostgreSQL
-- wakes every process that listens to anything, and its commit waits for those of all others. Lost
-- with a crash of the server, after which those who follow enter them again. Programs of the
-- release before enter none, and look by the clock.
create unlogged table followed_runs (
  run_id uuid primary key,
  until timestamptz not null
);

-- As before; who hears of it is looked up at once, as for most runs nobody does.
create or replace function tell_execution_status() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  is_followed boolean;
  has_webhooks boolean;
  is_task boolean;
  last int;
begin
  select
    exists (select from followed_runs where run_id = new.id and until > now()),
    new.finished_at is not null and old.finished_at is null and exists (
      select from webhooks where deployment_id = new.deployment_id and run_id is null),
    exists (select from a2a_tasks where run_id = new.id)
    into is_followed, has_webhooks, is_task;
  if is_followed then
    perform pg_notify('run_changed', new.id || ' status');
  end if;
  if has_webhooks then
    select coalesce(max(number), 0) into last from execution_events where execution_id = new.id;
    perform tell_webhooks(new, end_of_execution(new),
      jsonb_build_object('number', last + 1, 'attempt', new.attempt), new.finished_at);
  end if;
  if is_task then
    update a2a_tasks set updated_at = clock_timestamp() where run_id = new.id;
    perform tell_task_status(id, new)
      from (select id from webhooks where run_id = new.id order by id) of_task;
  end if;
  return null;
end $$;
