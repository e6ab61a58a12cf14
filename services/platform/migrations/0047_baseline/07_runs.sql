-- Runs: the queue, what they report, and what they are given. What they report lies in partitions
-- by the day of the run, so that a day that is too old is dropped as a whole.

-- The days that have partitions.
create table run_days (day date primary key);

-- The ids of runs are UUIDs of version 8 (RFC 9562), whose first 48 bits are the days since 1970,
-- before 74 random bits.
create function first_run_id(of date) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(of - date '1970-01-01'), 12, '0') || repeat('0', 20))::uuid
$$;

-- The day of a run; null where its id is random, and says none: those sort after all with a day.
create function run_day(id uuid) returns date language sql immutable strict as $$
  select case when id < '00000001-0000-0000-0000-000000000000'
    then date '1970-01-01'
      + ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint::int end
$$;

-- A day without partitions has runs without a day.
create function new_run_id() returns uuid language plpgsql as $$
declare
  today date := (now() at time zone 'UTC')::date;
  random uuid := gen_random_uuid();
begin
  if not exists (select from run_days where day = today) then
    return random;
  end if;
  return (left(translate(first_run_id(today)::text, '-', ''), 12)
    || '8' || right(translate(random::text, '-', ''), 19))::uuid;
end $$;

-- The queue: one row per kickoff.
create table executions (
  -- the kickoff id, which is the trace id as well
  id uuid primary key default new_run_id(),
  deployment_id int not null references deployments,
  inputs jsonb not null check (jsonb_typeof(inputs) = 'object'),
  -- waiting: for the decision of a person, or for a budget
  status text not null default 'queued'
    check (status in ('queued', 'running', 'waiting', 'completed', 'error', 'stopped')),
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
  -- A run is of the version that its automation runs when it is queued, whatever is published
  -- later.
  organization_id int not null,
  project_version_id int not null,
  -- Only lost attempts count towards giving a run up: those whose worker died or whose crew broke,
  -- not those that were handed over because a worker or a crew was being replaced.
  lost_attempts int not null default 0 check (lost_attempts >= 0),
  -- the run that it continues, whose version it keeps
  origin_id uuid references executions on delete set null,
  origin_action text check (origin_action in ('retry', 'fork', 'rerun')),
  -- who or what started it
  trigger text check (trigger in ('api', 'console', 'designer', 'assistant', 'schedule')),
  -- such as person:7, token:3, client:crm
  starter_id text check (length(starter_id) between 1 and 300),
  -- the name of that time
  starter_name text check (length(starter_name) between 1 and 300),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id),
  foreign key (project_version_id, organization_id)
    references project_versions (id, organization_id),
  check ((status = 'running') = (lease_id is not null)),
  check ((lease_id is null) = (lease_expires_at is null)),
  check ((status in ('completed', 'error', 'stopped')) = (finished_at is not null)),
  check ((status = 'completed') = (output is not null)),
  check ((status = 'error') = (error is not null))
);

create index executions_queued on executions (available_at) where status = 'queued';
-- Workers look at the head of each automation's line.
create index executions_line on executions (deployment_id, available_at) where status = 'queued';
create index executions_leased on executions (lease_expires_at) where status = 'running';
create index executions_running on executions (deployment_id) where status = 'running';
create index executions_waiting on executions (organization_id, id) where status = 'waiting';
-- What the retention deletes.
create index executions_finished on executions (finished_at) where finished_at is not null;
create index executions_origin on executions (origin_id) where origin_id is not null;
create index executions_of_version on executions (project_version_id);
create index executions_of_deployment on executions (deployment_id, queued_at desc);
create index executions_of_organization on executions (organization_id, queued_at desc, id desc);
-- Lists by status, and the counts beside them, which read nothing else.
create index executions_of_status on executions (organization_id, status, queued_at desc, id desc)
  include (deployment_id, trigger, starter_name);

create function set_execution_version() returns trigger language plpgsql as $$
begin
  select organization_id, coalesce(new.project_version_id, project_version_id)
    into new.organization_id, new.project_version_id
    from deployments where id = new.deployment_id;
  return new;
end $$;

create trigger executions_version before insert on executions
  for each row execute function set_execution_version();

-- Wakes the workers; they look into the table themselves.
create function notify_execution_queued() returns trigger language plpgsql as $$
begin
  notify execution_queued;
  return null;
end $$;

create trigger executions_wake_workers after insert on executions
  for each statement execute function notify_execution_queued();

-- When the queue last started a run of each automation. A table of its own, so that workers, which
-- choose one after the other, never wait for a change of an automation.
create table queue_turns (
  deployment_id int primary key references deployments on delete cascade,
  taken_at timestamptz not null
) with (fillfactor = 50);

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
create index kickoff_keys_execution on kickoff_keys (execution_id);

-- What a run reported of its progress, in order.
create table execution_events (
  execution_id uuid not null references executions on delete cascade,
  attempt int not null,
  position int not null check (position >= 0),
  event jsonb not null,
  recorded_at timestamptz not null default now(),
  -- one position within the run, over all of its attempts
  number int not null check (number > 0),
  primary key (execution_id, attempt, position)
) partition by range (execution_id);

create unique index execution_events_number on execution_events (execution_id, number);
-- How far a run has come is read at each look at its status.
create index execution_events_of_tasks on execution_events (execution_id, number)
  where event ->> 'type' in ('task_started', 'task_completed');
-- A task that is resumed in a new attempt is announced once, and so is the file that it writes
-- again.
create unique index execution_events_once
  on execution_events (execution_id, (event ->> 'step'), (event ->> 'type'))
  where event ->> 'type' in ('task_started', 'task_completed') and event ? 'step';
create unique index execution_events_artifact_once
  on execution_events (execution_id, (event ->> 'step'), (event ->> 'name'))
  where event ->> 'type' = 'artifact' and event ? 'step';

-- This function and those below have one plan for all runs, of which only the partition of the run
-- is begun: to plan anew, or to begin all partitions, takes longer than the look itself.
create function number_execution_event() returns trigger language plpgsql
set plan_cache_mode = force_generic_plan as $$
begin
  -- Whoever else appends to the run, or ends it, waits: the numbers are in the order of the
  -- commits, so that a reader who has seen one misses none before it.
  perform from executions where id = new.execution_id for no key update;
  select coalesce(max(number), 0) + 1 into new.number
    from execution_events where execution_id = new.execution_id;
  return new;
end $$;

create trigger execution_events_numbered before insert on execution_events
  for each row execute function number_execution_event();

create function events_of_tasks(of uuid)
returns table (number int, attempt int, event jsonb, recorded_at timestamptz)
language plpgsql stable rows 20 set plan_cache_mode = force_generic_plan as $$
begin
  return query
    select e.number, e.attempt, e.event, e.recorded_at from execution_events e
    where e.execution_id = of and e.event ->> 'type' in ('task_started', 'task_completed');
end $$;

-- The journal: each step is written before it acts and with its result after, so that a new attempt
-- continues after the last finished one.
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
) partition by range (run_id);

-- The last position of a run is looked up at each write, and steps are listed in its order.
create index run_steps_in_order on run_steps (run_id, position);

-- Results that are too long for the row of their step.
create table run_payloads (
  run_id uuid not null references executions on delete cascade,
  step_key text not null,
  content json not null,
  primary key (run_id, step_key)
) partition by range (run_id);
-- To compress a long result takes the server several times as long as to store it.
alter table run_payloads alter column content set storage external;

create function last_step_position(of uuid) returns int language plpgsql stable
set plan_cache_mode = force_generic_plan as $$
begin
  return (select max(position) from run_steps where run_id = of);
end $$;

create function journal_of_run(of uuid)
returns table (step text, kind text, usage jsonb, attempt int, result json)
language plpgsql stable rows 20 set plan_cache_mode = force_generic_plan as $$
begin
  return query
    -- No joins: a plan for a day that has no statistics yet compares each step with each other one.
    select s.step_key, s.kind, s.usage, s.attempt,
      case when s.has_payload then (
        select content from run_payloads where run_id = of and step_key = s.step_key)
      else s.result end
    from run_steps s
    where s.run_id = of and s.state = 'finished' and (s.parent is null or s.parent not in (
      select step_key from run_steps where run_id = of and state = 'finished'))
    order by s.position;
end $$;

-- The files that tasks write: texts, kept with the run.
create table run_artifacts (
  run_id uuid not null references executions on delete cascade,
  name text not null check (name <> '' and octet_length(name) <= 255 and name !~ '[/\\[:cntrl:]]'),
  -- the step that wrote it, as runs that follow this one keep it
  step_key text,
  task text not null,
  content text not null,
  size int not null check (size between 0 and 1048576 and size = octet_length(content)),
  -- characters beyond the size that is kept
  left_out int not null check (left_out >= 0),
  created_at timestamptz not null default now(),
  primary key (run_id, name)
) partition by range (run_id);

-- Runs without a day.
create table execution_events_undated partition of execution_events
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);
create table run_steps_undated partition of run_steps
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);
create table run_payloads_undated partition of run_payloads
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);
create table run_artifacts_undated partition of run_artifacts
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);

create function make_run_day(of date) returns void language plpgsql as $$
declare
  parent text;
  part text;
begin
  foreach parent in array array[
    'execution_events', 'run_steps', 'run_payloads', 'run_artifacts'] loop
    part := parent || to_char(of, '_YYYYMMDD');
    execute format('create table %I (like %I including all)', part, parent);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)',
      parent, part, first_run_id(of), first_run_id(of + 1));
  end loop;
  insert into run_days values (of);
end $$;

select make_run_day((now() at time zone 'UTC')::date + ahead)
  from generate_series(0, 3) as ahead;

-- What a run asked a person, and the answer. The step of the same key gets the answer as its
-- result, with which the run continues.
create table run_approvals (
  run_id uuid not null references executions on delete cascade,
  step_key text not null,
  task text not null,
  -- what the task would put out
  proposed text not null,
  asked_at timestamptz not null default now(),
  -- then it counts as `undecided` says
  decide_by timestamptz not null,
  decision text check (decision in ('approve', 'edit', 'reject')),
  -- what it puts out instead, or why not
  answer text,
  decided_at timestamptz,
  -- null: a program, or no person in time
  decided_by int references users on delete set null,
  undecided text not null default 'reject' check (undecided in ('approve', 'reject')),
  primary key (run_id, step_key),
  check ((decision is null) = (decided_at is null)),
  check (decision is distinct from 'edit' or answer is not null)
);

create index run_approvals_open on run_approvals (decide_by) where decision is null;

-- Files that inputs of runs refer to.
create table input_files (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  deployment_id int not null references deployments on delete cascade,
  name text not null check (name <> '' and octet_length(name) <= 255),
  media_type text not null check (media_type <> '' and length(media_type) <= 100),
  size int not null check (size between 1 and 20971520),
  sha256 bytea not null check (octet_length(sha256) = 32),
  created_at timestamptz not null default now()
);

create index input_files_of_organization on input_files (organization_id);
create index input_files_age on input_files (created_at);
-- The same file again is the same file, and counts as sent when it was sent last.
create unique index input_files_content on input_files (deployment_id, sha256, name, media_type);

-- In parts, so that an upload never holds all of a file in memory.
create table input_file_parts (
  file_id uuid not null references input_files on delete cascade deferrable initially deferred,
  position int not null check (position >= 0),
  content bytea not null check (octet_length(content) between 1 and 1048576),
  primary key (file_id, position)
);

-- A file is kept while a run that names it is kept.
create table run_files (
  run_id uuid not null references executions on delete cascade,
  file_id uuid not null references input_files,
  primary key (run_id, file_id)
);

create index run_files_of_file on run_files (file_id);

-- What people asked the Assistant for, and the definition that it proposes: a draft once accepted.
create table version_proposals (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null,
  project_id int not null,
  -- the version that it changes; null: there was none
  base_number int check (base_number > 0),
  request text not null check (length(request) between 1 and 8000),
  -- the runs of the Assistant: the second one only when the first answer was no definition
  run_id uuid not null unique references executions on delete cascade,
  second_run_id uuid unique references executions on delete cascade,
  state text not null default 'asked'
    check (state in ('asked', 'proposed', 'failed', 'accepted', 'discarded')),
  definition jsonb,
  -- what is wrong with the last answer, or why there is none
  problems text[] not null default '{}',
  accepted_number int,
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  foreign key (project_id, organization_id) references projects (id, organization_id)
    on delete cascade,
  check (state not in ('proposed', 'accepted') or definition is not null),
  check ((state = 'accepted') = (accepted_number is not null))
);

create index version_proposals_of_project on version_proposals (project_id, created_at desc);

-- Filters of the list of runs that are kept under a name: for one person, or for all members.
create table run_filters (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  -- the person who made it
  user_id int not null references users on delete cascade,
  is_shared boolean not null default false,
  name text not null check (length(name) between 1 and 80),
  -- the query of the address, as the list writes it
  query text not null check (octet_length(query) <= 4096),
  created_at timestamptz not null default now()
);

create unique index run_filters_of_person on run_filters (organization_id, user_id, name)
  where not is_shared;
create unique index run_filters_shared on run_filters (organization_id, name) where is_shared;
