-- Events of runs for clients that wait for them: announced, and sent to webhooks.

-- The addresses that events of an automation's runs are sent to.
create table webhooks (
  id uuid primary key,
  deployment_id int not null references deployments on delete cascade,
  url text not null check (url ~ '^https?://' and length(url) <= 2000),
  -- the types of the events that are sent; '*' is every event
  event_types text[] not null check (
    cardinality(event_types) between 1 and 50 and '' <> all (event_types)
    and array_position(event_types, null) is null),
  sealed_key bytea not null,
  -- the key before, with which messages are signed as well until then
  sealed_previous_key bytea,
  previous_key_until timestamptz,
  -- the first failure since a message was last accepted
  failing_since timestamptz,
  paused_at timestamptz,
  -- why the platform paused it; null: a person did
  pause_reason text,
  created_at timestamptz not null default now(),
  check ((sealed_previous_key is null) = (previous_key_until is null)),
  check (paused_at is not null or pause_reason is null)
);

create index webhooks_of_deployment on webhooks (deployment_id);

-- The outbox: the messages that webhooks are still to get, or got. It refers to no other table: a
-- foreign key would make the transaction of an event fail when its webhook is deleted at the same
-- time. What is left behind then is deleted with the retention.
create table webhook_messages (
  id bigint generated always as identity primary key,
  -- by which the receiver identifies it, the same at each try
  message_id uuid not null unique default gen_random_uuid(),
  webhook_id uuid not null,
  -- messages of one run are sent in order; a test message has an id of its own here
  execution_id uuid not null,
  type text not null,
  payload jsonb not null,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  -- tries of this round; sending it again by hand begins another one
  tries int not null default 0 check (tries >= 0),
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  check ((state = 'waiting') = (ended_at is null))
);

create index webhook_messages_waiting on webhook_messages (webhook_id, execution_id, id)
  where state = 'waiting';
create index webhook_messages_of_webhook on webhook_messages (webhook_id, id desc);
create index webhook_messages_ended on webhook_messages (ended_at) where ended_at is not null;

-- Each try of a message.
create table webhook_attempts (
  message_id bigint not null references webhook_messages on delete cascade,
  number int not null check (number > 0),
  tried_at timestamptz not null default now(),
  -- the status of the answer; null: there was none
  status int,
  -- why it does not count; null: it was accepted
  problem text,
  duration_ms int not null,
  primary key (message_id, number)
);

-- One line for each run of which a webhook has messages waiting: the worker that holds it sends
-- them one after the other.
create table webhook_lines (
  webhook_id uuid not null,
  execution_id uuid not null,
  -- when to send the head of the line; while a worker holds it, when the lease ends
  due_at timestamptz not null,
  lease_id uuid,
  primary key (webhook_id, execution_id)
);

create index webhook_lines_due on webhook_lines (webhook_id, due_at);

-- Puts one message into the line of its run. The worker that holds the line waits for this
-- transaction before it looks whether the line is empty.
create function line_up_webhook_message(
  of_webhook uuid, of_execution uuid, of_type text, told jsonb)
returns bigint language plpgsql as $$
declare
  written bigint;
begin
  insert into webhook_messages (webhook_id, execution_id, type, payload)
    values (of_webhook, of_execution, of_type, told) returning id into written;
  -- Locks a line that is there, and leaves it as it is: it is due, in its pause, or being sent.
  insert into webhook_lines as line (webhook_id, execution_id, due_at)
    values (of_webhook, of_execution, now())
    on conflict (webhook_id, execution_id) do update set due_at = line.due_at where false;
  if found then
    notify webhook_due;
  end if;
  return written;
end $$;

create function utc_text(moment timestamptz) returns text language sql stable as $$
  select to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Lines up an event for the webhooks that want its type. Receivers take no megabytes: what is
-- larger is announced by its number, and read from the API.
create function tell_webhooks(run executions, event jsonb, facts jsonb, at timestamptz)
returns void language plpgsql as $$
declare
  webhook record;
  data jsonb;
begin
  for webhook in
    select w.id, d.automation_id from webhooks w join deployments d on d.id = w.deployment_id
    where w.deployment_id = run.deployment_id
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

-- Announces the events of a statement, and lines them up for webhooks.
create function tell_execution_events() returns trigger language plpgsql as $$
declare
  told record;
begin
  perform pg_notify('run_changed', execution_id || ' event')
    from (select distinct execution_id from written) runs;
  for told in
    select e as run, w.event, w.number, w.attempt, w.recorded_at
    from written w join executions e on e.id = w.execution_id
    where exists (select from webhooks h where h.deployment_id = e.deployment_id)
    order by w.execution_id, w.number
  loop
    perform tell_webhooks(told.run, told.event,
      jsonb_build_object('number', told.number, 'attempt', told.attempt), told.recorded_at);
  end loop;
  return null;
end $$;

create trigger execution_events_told after insert on execution_events
  referencing new table as written
  for each statement execute function tell_execution_events();

-- The last event of a run, which is kept with the run itself.
create function end_of_execution(run executions) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'type', case run.status
      when 'completed' then 'run_completed' when 'error' then 'run_failed' else 'run_stopped' end,
    'at', utc_text(run.finished_at), 'status', run.status, 'output', run.output, 'error', run.error,
    'usage', case when run.usage is not null then jsonb_build_object(
      'input_tokens', run.usage -> 'inputTokens', 'output_tokens', run.usage -> 'outputTokens') end)
$$;

create function tell_execution_status() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan as $$
declare
  last int;
begin
  perform pg_notify('run_changed', new.id || ' status');
  if new.finished_at is not null and old.finished_at is null then
    select coalesce(max(number), 0) into last from execution_events where execution_id = new.id;
    perform tell_webhooks(new, end_of_execution(new),
      jsonb_build_object('number', last + 1, 'attempt', new.attempt), new.finished_at);
  end if;
  return null;
end $$;

create trigger executions_told after update of status on executions
  for each row when (old.status is distinct from new.status)
  execute function tell_execution_status();
