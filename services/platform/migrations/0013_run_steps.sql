-- The steps of runs, each written before it acts and with its result after, so that a new attempt
-- goes on after the last finished one.

create table run_steps (
  run_id uuid not null references executions on delete cascade,
  -- the same in each attempt; the crew makes it of the version, the inputs and the path
  step_key text not null check (length(step_key) between 1 and 64),
  -- in the order in which they started first
  position int not null check (position >= 0),
  kind text not null check (kind in ('task', 'llm', 'tool', 'approval')),
  name text not null,
  path jsonb not null check (jsonb_typeof(path) = 'array'),
  -- the step that it is a part of
  parent text,
  state text not null check (state in ('started', 'finished', 'failed')),
  -- the last one that performed it; 0: carried over from another run
  attempt int not null check (attempt >= 0),
  started_at timestamptz not null,
  ended_at timestamptz,
  input json,
  usage jsonb,
  error jsonb,
  -- as the crew wrote it, which jsonb would not keep
  result json,
  has_payload boolean not null default false,
  primary key (run_id, step_key),
  check ((state = 'started') = (ended_at is null)),
  check (state = 'finished' or (result is null and not has_payload)),
  check (result is null or not has_payload)
);

-- Results that are too long for the row of their step.
create table run_payloads (
  run_id uuid not null references executions on delete cascade,
  step_key text not null,
  content json not null,
  primary key (run_id, step_key)
);

-- A task that goes on in a new attempt is announced once.
create unique index execution_events_once
  on execution_events (execution_id, (event ->> 'step'), (event ->> 'type'))
  where event ->> 'type' in ('task_started', 'task_completed') and event ? 'step';

-- A run that goes on where another one left off keeps that one's version, and says so.
alter table executions
  add column origin_id uuid references executions on delete set null,
  add column origin_action text check (origin_action in ('retry', 'fork', 'rerun'));

create index executions_origin on executions (origin_id) where origin_id is not null;

create or replace function set_execution_version() returns trigger language plpgsql as $$
begin
  select organization_id, coalesce(new.project_version_id, project_version_id)
    into new.organization_id, new.project_version_id
    from deployments where id = new.deployment_id;
  return new;
end $$;
