-- Runs that another run started by a tool, and waits for.

set local lock_timeout = '2s';

create table run_calls (
  -- the run that waits
  caller_id uuid not null references executions on delete cascade,
  -- the step of its tool
  step_key text not null check (length(step_key) between 1 and 64),
  -- the run that it started; null: that was deleted
  called_id uuid unique references executions on delete set null,
  called_at timestamptz not null default now(),
  -- when the step got the result
  settled_at timestamptz,
  primary key (caller_id, step_key)
);

create index run_calls_open on run_calls (called_at) where settled_at is null;

-- A run, and those that wait for it: the one that started it, the one that started that, and so on.
create function run_family(of uuid)
returns table (id uuid, deployment_id int, organization_id int) language sql stable rows 1 as $$
  with recursive family as (
    select e.id, e.deployment_id, e.organization_id, 1 as depth from executions e where e.id = of
    union all
    select e.id, e.deployment_id, e.organization_id, f.depth + 1
    from family f join run_calls c on c.called_id = f.id join executions e on e.id = c.caller_id
    where f.depth < 10)
  select family.id, family.deployment_id, family.organization_id from family
$$;

-- Wakes the workers when a run has ended that another one waits for.
create function note_called_run() returns trigger language plpgsql as $$
begin
  if exists (select from run_calls where called_id = new.id) then
    notify called_run_ended;
  end if;
  return null;
end $$;

create trigger executions_called after update of status on executions
  for each row when (new.finished_at is not null) execute function note_called_run();

-- safe: it refuses nothing that they write
alter table executions drop constraint executions_trigger_check;
-- safe: it refuses nothing that they write
alter table executions add constraint executions_trigger_check
  check (trigger in ('api', 'console', 'designer', 'assistant', 'schedule', 'event', 'run'))
  not valid;
