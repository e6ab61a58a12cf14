-- Many runs of an automation that one call asks for. Workers queue them in portions, in which a row
-- and its run are one transaction.

set local lock_timeout = '2s';

create table batches (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null,
  deployment_id int not null,
  -- the version that its inputs were checked against, which its runs are of
  version_id int not null,
  -- of the file, or what the caller says
  name text not null check (length(name) between 1 and 100),
  idempotency_key text check (length(idempotency_key) between 1 and 255),
  -- of what was sent
  content_sha256 bytea not null,
  rows int not null check (rows between 1 and 100000),
  -- those that no run was queued for yet, and those that never get one
  waiting int not null check (waiting between 0 and rows),
  skipped int not null default 0 check (skipped between 0 and rows),
  trigger text not null,
  starter_id text not null check (length(starter_id) between 1 and 300),
  starter_name text not null check (length(starter_name) between 1 and 300),
  created_at timestamptz not null default now(),
  -- when a worker looks at it; null: it has nothing to queue, or is paused
  next_at timestamptz,
  -- why the last look queued nothing
  waits_for text check (length(waits_for) <= 1000),
  stopped_at timestamptz,
  unique (deployment_id, idempotency_key),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade,
  foreign key (version_id, organization_id) references project_versions (id, organization_id)
    on delete cascade,
  check (next_at is null or waiting > 0)
);

create index batches_due on batches (next_at) where next_at is not null;
create index batches_of_deployment on batches (deployment_id, created_at desc);
create index batches_of_version on batches (version_id);
create index batches_open on batches (organization_id) where waiting > 0;

create table batch_rows (
  batch_id uuid not null references batches on delete cascade,
  position int not null check (position between 1 and 100000),
  -- by which the caller identifies it
  key text not null check (length(key) between 1 and 200),
  -- until its run is queued, which has them then
  inputs json,
  -- the last run of it
  run_id uuid,
  primary key (batch_id, position),
  unique (batch_id, key)
);

create index batch_rows_waiting on batch_rows (batch_id, position) where inputs is not null;

-- Of rows that were tried again, the last run alone.
alter table executions add column batch_id uuid;
create index executions_of_batch on executions (batch_id, status) where batch_id is not null;
