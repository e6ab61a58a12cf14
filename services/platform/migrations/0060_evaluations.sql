-- Cases of automations, checks of what versions make of them, and the gates of versions.

set local lock_timeout = '2s';

create table case_sets (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null,
  deployment_id int not null,
  name text not null check (length(name) between 1 and 100),
  checks jsonb not null check (jsonb_typeof(checks) = 'array'),
  -- how many cases it has
  size int not null default 0 check (size between 0 and 100000),
  -- changes with its cases and its checks: an evaluation is of one revision
  revision int not null default 0,
  created_at timestamptz not null default now(),
  unique (deployment_id, name),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade
);

create table cases (
  id uuid primary key default gen_random_uuid(),
  set_id uuid not null references case_sets on delete cascade,
  position bigint generated always as identity,
  name text check (length(name) between 1 and 200),
  inputs jsonb not null check (jsonb_typeof(inputs) = 'object'),
  -- null: no output is known to be right
  expected text,
  -- the run that it was made of, which may be deleted meanwhile
  run_id uuid,
  created_at timestamptz not null default now()
);

create index cases_of_set on cases (set_id, position);
create unique index cases_of_run on cases (set_id, run_id) where run_id is not null;

-- A set that one or two versions perform. Its runs are no runs: nothing counts them, and nothing
-- hears of them.
create table evaluations (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null,
  deployment_id int not null,
  set_id uuid not null references case_sets on delete cascade,
  revision int not null,
  checks jsonb not null,
  -- of a draft: a copy, which stays what it is
  version_id int not null,
  -- the version beside it; null: none
  against_id int,
  repeat int not null check (repeat between 1 and 10),
  -- the newest ones; null: all
  newest int check (newest > 0),
  -- how many they were: those that are deleted take their results with them
  cases int not null check (cases > 0),
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 300),
  finished_at timestamptz,
  -- what was found, once it is finished
  scores jsonb,
  -- why it was given up
  given_up text,
  check (given_up is null or finished_at is not null),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade,
  foreign key (version_id, organization_id) references project_versions (id, organization_id)
    on delete cascade,
  foreign key (against_id, organization_id) references project_versions (id, organization_id)
    on delete cascade
);

create index evaluations_of_deployment on evaluations (deployment_id, created_at desc);
create index evaluations_of_set on evaluations (set_id, created_at desc);
create index evaluations_of_version on evaluations (version_id);
create index evaluations_of_against on evaluations (against_id) where against_id is not null;
create index evaluations_open on evaluations (organization_id) where finished_at is null;

create table evaluation_runs (
  id uuid primary key default gen_random_uuid(),
  evaluation_id uuid not null references evaluations on delete cascade,
  case_id uuid not null references cases on delete cascade,
  -- by the version beside it
  is_against boolean not null,
  repetition int not null check (repetition >= 0),
  position int not null check (position >= 0),
  state text not null default 'queued'
    check (state in ('queued', 'running', 'passed', 'failed', 'error')),
  attempt int not null default 0 check (attempt >= 0),
  lease_id uuid,
  lease_expires_at timestamptz,
  available_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  -- why it did not pass
  reason text,
  output text,
  -- what each check found
  findings jsonb,
  -- the tools that were called
  tools jsonb,
  input_tokens bigint,
  output_tokens bigint,
  -- null: a model has no price
  usd numeric,
  unique (evaluation_id, case_id, is_against, repetition),
  check ((state = 'running') = (lease_id is not null)),
  check ((state in ('passed', 'failed', 'error')) = (finished_at is not null))
);

-- Evaluations take turns, as replays do.
create index evaluation_runs_line on evaluation_runs (position, evaluation_id)
  where state in ('queued', 'running');
create index evaluation_runs_open on evaluation_runs (evaluation_id)
  where state in ('queued', 'running');
create index evaluation_runs_in_order on evaluation_runs (evaluation_id, position);
create index evaluation_runs_of_case on evaluation_runs (case_id);

create function notify_evaluation_queued() returns trigger language plpgsql as $$
begin
  notify evaluation_queued;
  return null;
end $$;

create trigger evaluations_wake_workers after insert on evaluation_runs
  for each statement execute function notify_evaluation_queued();

-- What a version has to pass before it is published.
create table gates (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null,
  deployment_id int not null,
  set_id uuid not null references case_sets on delete restrict,
  -- of 100 cases
  at_least int not null check (at_least between 0 and 100),
  -- none fails that the version that runs passes
  keeps_passing boolean not null,
  repeat int not null check (repeat between 1 and 10),
  -- the time for its evaluation
  within_minutes int not null check (within_minutes between 1 and 1440),
  created_at timestamptz not null default now(),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade
);

create index gates_of_deployment on gates (deployment_id);
create index gates_of_set on gates (set_id);
