-- Runs that wait for a person.

alter table executions drop constraint executions_status_check;
alter table executions add constraint executions_status_check
  check (status in ('queued', 'running', 'waiting', 'completed', 'error', 'stopped'));

-- What a run asked a person, and the answer. The step of the same key gets the answer as its
-- result, with which the run goes on.
create table run_approvals (
  run_id uuid not null references executions on delete cascade,
  step_key text not null,
  task text not null,
  -- what the task would put out
  proposed text not null,
  asked_at timestamptz not null default now(),
  -- then it counts as rejected
  decide_by timestamptz not null,
  decision text check (decision in ('approve', 'edit', 'reject')),
  -- what it puts out instead, or why not
  answer text,
  decided_at timestamptz,
  -- null: a program, or nobody in time
  decided_by int references users on delete set null,
  primary key (run_id, step_key),
  check ((decision is null) = (decided_at is null)),
  check (decision is distinct from 'edit' or answer is not null)
);

create index run_approvals_open on run_approvals (decide_by) where decision is null;
create index executions_waiting on executions (organization_id, id) where status = 'waiting';
