-- Checks that score a share of the runs of an automation after they ended.

set local lock_timeout = '2s';

alter table score_rules
  -- of 100 runs that complete, so many are scored
  add column scored_share int not null default 0 check (scored_share between 0 and 100),
  add column checks jsonb not null default '[]' check (jsonb_typeof(checks) = 'array'),
  -- runs that ended before are not scored
  add column scored_since timestamptz not null default now(),
  add column looked_at timestamptz;

create table run_scores (
  run_id uuid primary key references executions on delete cascade,
  deployment_id int not null,
  organization_id int not null,
  state text not null default 'queued'
    check (state in ('queued', 'running', 'passed', 'failed', 'error')),
  attempt int not null default 0 check (attempt >= 0),
  lease_id uuid,
  lease_expires_at timestamptz,
  available_at timestamptz not null default now(),
  scored_at timestamptz,
  -- why it did not pass
  reason text,
  -- what each check found
  findings jsonb,
  -- what asking judges took; null: a model has no price
  tokens bigint,
  usd numeric,
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade,
  check ((state = 'running') = (lease_id is not null)),
  check ((state in ('passed', 'failed', 'error')) = (scored_at is not null))
);

create index run_scores_line on run_scores (available_at) where state in ('queued', 'running');
create index run_scores_waiting on run_scores (deployment_id) where state in ('queued', 'running');
create index run_scores_of_deployment on run_scores (deployment_id, scored_at);
create index run_scores_scored on run_scores (scored_at) where scored_at is not null;

create function notify_score_queued() returns trigger language plpgsql as $$
begin
  if exists (select from queued) then
    notify score_queued;
  end if;
  return null;
end $$;

create trigger run_scores_wake_workers after insert on run_scores
  referencing new table as queued
  for each statement execute function notify_score_queued();
