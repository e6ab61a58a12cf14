-- Addresses that take the webhooks of third parties, each of which may start a run.
create table triggers (
  id uuid primary key,
  deployment_id int not null references deployments on delete cascade,
  name text not null check (length(name) between 1 and 100),
  -- how deliveries are signed
  scheme text not null check (length(scheme) between 1 and 50),
  -- the header with the signature or the token, where the scheme names none
  header text check (header ~ '^[a-z0-9-]{1,100}$'),
  -- the condition that a delivery has to fulfil
  filter text check (length(filter) between 1 and 2000),
  -- where the id of a delivery is, in place of where the scheme has it
  delivery_path text check (length(delivery_path) between 1 and 1000),
  -- the inputs of a run, with templates for what is taken from the delivery
  inputs jsonb not null check (jsonb_typeof(inputs) = 'object'),
  -- null: there is no secret yet
  sealed_key bytea,
  -- the secret before, which is good as well until then
  sealed_previous_key bytea,
  previous_key_until timestamptz,
  paused_at timestamptz,
  -- why the platform paused it; null: a person did
  pause_reason text,
  created_at timestamptz not null default now(),
  check ((sealed_previous_key is null) = (previous_key_until is null)),
  check (paused_at is not null or pause_reason is null)
);

create index triggers_of_deployment on triggers (deployment_id);

-- What was delivered. The row of a delivery and the run that it starts are one transaction, so an
-- id starts one run, however often it is sent.
create table trigger_deliveries (
  id bigint generated always as identity primary key,
  trigger_id uuid not null references triggers on delete cascade,
  -- by which the sender identifies it
  delivery_id text not null check (length(delivery_id) between 1 and 300),
  state text not null check (state in ('started', 'skipped', 'failed')),
  -- why it started no run
  problem text check (length(problem) <= 1000),
  -- the last run that it started
  run_id uuid,
  -- without those that prove who sent it
  headers jsonb not null check (jsonb_typeof(headers) = 'object'),
  -- null: it could not be read, or its time is over
  payload jsonb,
  received_at timestamptz not null default now(),
  unique (trigger_id, delivery_id),
  check (state <> 'started' or run_id is not null)
);

create index trigger_deliveries_newest on trigger_deliveries (trigger_id, id desc);
create index trigger_deliveries_age on trigger_deliveries (received_at);
create index trigger_deliveries_kept on trigger_deliveries (received_at) where payload is not null;

-- Runs that events of third parties start. What is there fulfils the narrower condition of before,
-- so that nothing has to be looked at.
-- safe: it refuses nothing that they write
alter table executions drop constraint executions_trigger_check;
-- safe: it refuses nothing that they write
alter table executions add constraint executions_trigger_check
  check (trigger in ('api', 'console', 'designer', 'assistant', 'schedule', 'event')) not valid;
