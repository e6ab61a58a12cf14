-- Runs that callers started as tasks of A2A, the addresses to which such a task says how it is
-- doing, and the keys that agent cards are signed with.

set local lock_timeout = '2s';

create table a2a_tasks (
  run_id uuid primary key references executions on delete cascade,
  deployment_id int not null,
  -- whose it is: no other caller sees it
  starter_id text not null check (length(starter_id) between 1 and 300),
  -- groups the tasks of a caller
  context_id text not null check (length(context_id) between 1 and 255),
  message_id text not null check (length(message_id) between 1 and 255),
  -- when its status changed last
  updated_at timestamptz not null default clock_timestamp()
);

create index a2a_tasks_of_starter
  on a2a_tasks (deployment_id, starter_id, updated_at desc, run_id desc);

-- A webhook of one task, which is sent its changes of status. What goes along as authentication
-- is sealed in the place of a key.
alter table webhooks add column run_id uuid references executions on delete cascade;
create index webhooks_of_run on webhooks (run_id) where run_id is not null;
-- How many messages of tasks are on their way.
create index webhook_lines_held on webhook_lines (webhook_id) where lease_id is not null;

-- As before, without the webhooks of tasks.
create or replace function tell_webhooks(run executions, event jsonb, facts jsonb, at timestamptz)
returns void language plpgsql as $$
declare
  webhook record;
  data jsonb;
begin
  for webhook in
    select w.id, d.automation_id from webhooks w join deployments d on d.id = w.deployment_id
    where w.deployment_id = run.deployment_id and w.run_id is null
      and w.event_types && array['*', event ->> 'type']
    order by w.id
  loop
    data := facts
      || jsonb_build_object('kickoff_id', run.id, 'automation_id', webhook.automation_id);
    data := case when octet_length(event::text) <= 262144 then event - 'type' || data
      else data || '{"truncated": true}' end;
    perform line_up_webhook_message(webhook.id, run.id, event ->> 'type', jsonb_build_object(
      'type', event ->> 'type', 'timestamp', utc_text(at), 'data', data));
  end loop;
end $$;

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
    where exists (
      select from webhooks h where h.deployment_id = e.deployment_id and h.run_id is null)
    order by w.execution_id, w.number
  loop
    perform tell_webhooks(told.run, told.event,
      jsonb_build_object('number', told.number, 'attempt', told.attempt), told.recorded_at);
  end loop;
  return null;
end $$;

-- Lines up for a webhook of a task what the status of its run is.
create function tell_task_status(of_webhook uuid, run executions) returns void
language plpgsql as $$
begin
  perform line_up_webhook_message(of_webhook, run.id, 'task_status', jsonb_build_object(
    'type', 'task_status', 'timestamp', utc_text(t.updated_at), 'data', jsonb_build_object(
      'kickoff_id', run.id, 'context_id', t.context_id, 'status', run.status,
      'error', run.error)))
    from a2a_tasks t where t.run_id = run.id;
end $$;

create or replace function tell_execution_status() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  last int;
begin
  perform pg_notify('run_changed', new.id || ' status');
  if new.finished_at is not null and old.finished_at is null then
    select coalesce(max(number), 0) into last from execution_events where execution_id = new.id;
    perform tell_webhooks(new, end_of_execution(new),
      jsonb_build_object('number', last + 1, 'attempt', new.attempt), new.finished_at);
  end if;
  update a2a_tasks set updated_at = clock_timestamp() where run_id = new.id;
  if found then
    perform tell_task_status(id, new)
      from (select id from webhooks where run_id = new.id order by id) of_task;
  end if;
  return null;
end $$;

-- What agent cards are signed with; a new one is published before it signs.
create table card_keys (
  kid uuid primary key,
  sealed_key bytea not null check (octet_length(sealed_key) > 37),
  public_key jsonb not null check (jsonb_typeof(public_key) = 'object'),
  created_at timestamptz not null default now()
);
