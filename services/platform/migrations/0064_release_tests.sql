-- Versions whose share is taken back by a test, when they are worse than the one that runs.

set local lock_timeout = '2s';

alter table releases
  -- the margins, and who gets a mail; null: only people take the share back
  add column rollback jsonb check (jsonb_typeof(rollback) = 'object'),
  -- since when calls are drawn with this share
  add column share_since timestamptz not null default now(),
  -- a look at the release before a change says nothing about the one after it
  add column revision int not null default 0,
  add column looked_at timestamptz,
  -- the end of the newest run that was counted
  add column counted_until timestamptz,
  -- what the last look found
  add column standing jsonb;

-- The runs that the test has seen, in the order in which it saw them. It refers to no run: one that
-- is deleted was seen all the same.
create table release_runs (
  id bigint generated always as identity primary key,
  project_id int not null references releases on delete cascade,
  -- the version that has the share, which is not always that of the run
  version_id int not null,
  -- what was drawn for: the run, or the value of an input, of which only the first run counts
  unit text not null,
  run_id uuid not null,
  is_new boolean not null,
  -- of 100 calls, when it was drawn
  share int not null check (share between 1 and 99),
  has_failed boolean not null,
  -- null: a model had no price
  usd float8 check (usd >= 0),
  -- by the first person who said so
  is_bad boolean,
  -- the order in which that was seen
  rated_position bigint,
  unique (project_id, unit),
  check ((is_bad is null) = (rated_position is null))
);

create sequence release_ratings owned by release_runs.rated_position;

-- The versions that were taken back, and why.
create table release_rollbacks (
  id uuid primary key default gen_random_uuid(),
  project_id int not null,
  organization_id int not null,
  number int not null,
  -- the version that takes all calls again
  running int not null,
  percent int not null,
  at timestamptz not null default now(),
  text text not null,
  standing jsonb not null,
  -- the worst ones, each with its automation
  runs jsonb not null check (jsonb_typeof(runs) = 'array'),
  foreign key (project_id, organization_id) references projects (id, organization_id)
    on delete cascade
);

create index release_rollbacks_of_project on release_rollbacks (project_id, at desc);

-- A mail is about a change of an alert, or about a version that was taken back.
-- safe: the mails of the release before are about changes
alter table alert_mails
  add column rollback_id uuid references release_rollbacks on delete cascade,
  add constraint alert_mails_rollback unique (rollback_id, user_id),
  add constraint alert_mails_subject check ((change_id is null) <> (rollback_id is null));
-- safe: the release before takes such a mail without sending it; a minute later it is due again
alter table alert_mails alter column change_id drop not null;

-- What has ended of a version is read by its end; the foreign key has use for the first column.
create index executions_ended_of_version on executions (project_version_id, finished_at);
-- safe: the one above does what it did
drop index executions_of_version;
