-- What models and tools were asked in the steps of runs, and runs that are performed again by it.

set local lock_timeout = '2s';

-- SHA-256 of the request as canonical JSON (RFC 8785), and the address of its last part.
alter table run_steps add column request_sha256 bytea;
alter table run_steps add column request bytea;

-- The parts of requests, each once for an organization and a day: the model, its tools and
-- parameters come first, and each message refers to the one before it. So a conversation has a row
-- for each of its messages, however often the whole of it is sent.
create table run_contents (
  -- of the run; the first of 1970 where its id says none
  day date not null,
  organization_id int not null,
  -- SHA-256 of the address before it and the content
  address bytea not null check (octet_length(address) = 32),
  previous bytea check (octet_length(previous) = 32),
  -- canonical JSON, as DEFLATE
  content bytea not null,
  primary key (day, organization_id, address)
) partition by range (day);
alter table run_contents alter column content set storage external;

create table run_contents_undated partition of run_contents
  for values from (minvalue) to ('1970-01-02');

create function content_day(run_id uuid) returns date language sql immutable strict as $$
  select coalesce(run_day(run_id), date '1970-01-01')
$$;

create function make_contents_day(of date) returns void language plpgsql as $$
declare
  part text := 'run_contents' || to_char(of, '_YYYYMMDD');
begin
  execute format('create table %I (like run_contents including all)', part);
  execute format('alter table run_contents attach partition %I for values from (%L) to (%L)',
    part, of, of + 1);
end $$;

create or replace function make_run_day(of date) returns void language plpgsql as $$
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
  perform make_contents_day(of);
  insert into run_days values (of);
end $$;

select make_contents_day(day) from run_days;

-- Days of organizations of which a run was deleted: parts that no other run has are to go.
create table swept_contents (
  day date not null,
  organization_id int not null,
  primary key (day, organization_id)
);

create function note_deleted_runs() returns trigger language plpgsql as $$
begin
  insert into swept_contents (day, organization_id)
  select distinct content_day(id), organization_id from deleted order by 1, 2
  on conflict do nothing;
  return null;
end $$;

create trigger executions_sweep_contents after delete on executions
  referencing old table as deleted
  for each statement execute function note_deleted_runs();

-- Runs that are performed again by a version of their project, with answers from their records.
-- They are no runs: nothing counts them, and nothing hears of them.
create table replays (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null,
  deployment_id int not null,
  version_id int not null,
  -- how its runs were chosen
  last int not null check (last between 1 and 1000),
  status text not null check (status in ('any', 'completed', 'error')),
  of_version int check (of_version > 0),
  kickoff_ids uuid[] not null,
  -- how many they were: those that are deleted take their results with them
  runs int not null check (runs between 1 and 1000),
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 300),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade,
  foreign key (version_id, organization_id) references project_versions (id, organization_id)
    on delete cascade
);

create index replays_of_deployment on replays (deployment_id, created_at desc);
create index replays_of_version on replays (version_id);
create index replays_of_organization on replays (organization_id);

create table replay_runs (
  replay_id uuid not null references replays on delete cascade,
  run_id uuid not null references executions on delete cascade,
  -- the newest run first
  position int not null check (position >= 0),
  state text not null default 'queued'
    check (state in ('queued', 'running', 'equal', 'different', 'impossible')),
  attempt int not null default 0 check (attempt >= 0),
  lease_id uuid,
  lease_expires_at timestamptz,
  available_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  -- why it differs or cannot be replayed
  reason text,
  -- the first step that differs: its kind, name and path, and the address of what was recorded
  step jsonb,
  recorded_request bytea,
  -- what was asked instead
  request json,
  output text,
  usage jsonb,
  primary key (replay_id, run_id),
  check ((state = 'running') = (lease_id is not null)),
  check ((state in ('equal', 'different', 'impossible')) = (finished_at is not null))
);

-- Replays take turns: the first run of each, then the second one of each.
create index replay_runs_line on replay_runs (position, replay_id)
  where state in ('queued', 'running');
create index replay_runs_run on replay_runs (run_id);

create function notify_replay_queued() returns trigger language plpgsql as $$
begin
  notify replay_queued;
  return null;
end $$;

create trigger replays_wake_workers after insert on replay_runs
  for each statement execute function notify_replay_queued();
