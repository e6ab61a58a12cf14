-- When runs of an automation start by themselves.

create table schedules (
  id int generated always as identity primary key,
  deployment_id int not null references deployments on delete cascade,
  name text not null check (length(name) between 1 and 100),
  -- five fields: minute, hour, day of the month, month, day of the week
  cron text not null check (length(cron) between 9 and 200),
  time_zone text not null check (length(time_zone) between 1 and 64),
  inputs jsonb not null check (jsonb_typeof(inputs) = 'object'),
  -- what happens to times at which no worker was running
  missed text not null check (missed in ('skip', 'run_once')),
  paused_at timestamptz,
  -- the next time; null while it is paused, and when there is none
  next_at timestamptz,
  last_at timestamptz,
  last_run_id uuid,
  -- why the last time started no run
  last_problem text check (length(last_problem) <= 1000),
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  check (paused_at is null or next_at is null)
);

create index schedules_of_deployment on schedules (deployment_id, id);
create index schedules_due on schedules (next_at) where next_at is not null;
