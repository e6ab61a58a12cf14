-- The queue: one row per kickoff.

create table executions (
  -- the kickoff id
  id uuid primary key default gen_random_uuid(),
  deployment_id int not null references deployments,
  inputs jsonb not null check (jsonb_typeof(inputs) = 'object'),
  status text not null default 'queued'
    check (status in ('queued', 'running', 'completed', 'error', 'stopped')),
  -- how often a worker took it up
  attempt int not null default 0 check (attempt >= 0),
  -- proof that a worker still owns the run; a new one for each attempt
  lease_id uuid,
  lease_expires_at timestamptz,
  queued_at timestamptz not null default now(),
  available_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  output text,
  usage jsonb,
  error jsonb,
  check ((status = 'running') = (lease_id is not null)),
  check ((lease_id is null) = (lease_expires_at is null)),
  check ((status in ('completed', 'error', 'stopped')) = (finished_at is not null)),
  check ((status = 'completed') = (output is not null)),
  check ((status = 'error') = (error is not null))
);

create index executions_queued on executions (available_at) where status = 'queued';
create index executions_leased on executions (lease_expires_at) where status = 'running';
create index executions_of_deployment on executions (deployment_id, queued_at desc);

-- What a run told of its progress, in order.
create table execution_events (
  execution_id uuid not null references executions on delete cascade,
  attempt int not null,
  position int not null check (position >= 0),
  event jsonb not null,
  recorded_at timestamptz not null default now(),
  primary key (execution_id, attempt, position)
);

-- A retried kickoff with the same Idempotency-Key answers with the run that the first one started.
create table kickoff_keys (
  deployment_id int not null references deployments on delete cascade,
  key text not null check (length(key) between 1 and 255),
  request_hash bytea not null check (octet_length(request_hash) = 32),
  execution_id uuid not null references executions on delete cascade,
  created_at timestamptz not null default now(),
  primary key (deployment_id, key)
);

create index kickoff_keys_age on kickoff_keys (created_at);

-- Wakes the workers; they look into the table themselves.
create function notify_execution_queued() returns trigger language plpgsql as $$
begin
  notify execution_queued;
  return null;
end $$;

create trigger executions_wake_workers after insert on executions
  for each statement execute function notify_execution_queued();
