-- Runs that survive rollouts, and a bound on how long finished ones are kept.

-- `attempt` counts every time a worker took a run up; only lost attempts count towards giving it up: those whose worker
-- died or whose crew broke, not those that were handed over because a worker or a crew was being replaced.
alter table executions add column lost_attempts int not null default 0 check (lost_attempts >= 0);
update executions set lost_attempts = case status when 'running' then greatest(attempt - 1, 0) else attempt end
  where status in ('queued', 'running');

-- What the retention deletes, and what goes with it.
create index executions_finished on executions (finished_at) where finished_at is not null;
create index kickoff_keys_execution on kickoff_keys (execution_id);
