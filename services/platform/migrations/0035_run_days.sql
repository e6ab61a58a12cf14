-- What runs report, by the day of the run: the tables that were there become the partition of the
-- runs without a day, which needs no look at their rows.

-- Shorter than the server takes to find a deadlock: it is the migration that gives way.
set local lock_timeout = '500ms';
lock table executions in access exclusive mode;

alter table execution_events rename to execution_events_undated;
alter index execution_events_pkey rename to execution_events_undated_pkey;
alter index execution_events_number rename to execution_events_undated_number;
alter index execution_events_of_tasks rename to execution_events_undated_of_tasks;
alter index execution_events_once rename to execution_events_undated_once;
alter index execution_events_artifact_once rename to execution_events_undated_artifact_once;
drop trigger execution_events_numbered on execution_events_undated;
drop trigger execution_events_told on execution_events_undated;

create table execution_events (
  execution_id uuid not null,
  attempt int not null,
  position int not null
    constraint execution_events_position_check check (position >= 0),
  event jsonb not null,
  recorded_at timestamptz not null default now(),
  number int not null constraint execution_events_number_check check (number > 0),
  primary key (execution_id, attempt, position),
  constraint execution_events_execution_id_fkey
    foreign key (execution_id) references executions on delete cascade
) partition by range (execution_id);

create unique index execution_events_number on execution_events (execution_id, number);
create index execution_events_of_tasks on execution_events (execution_id, number)
  where event ->> 'type' in ('task_started', 'task_completed');
create unique index execution_events_once
  on execution_events (execution_id, (event ->> 'step'), (event ->> 'type'))
  where event ->> 'type' in ('task_started', 'task_completed') and event ? 'step';
create unique index execution_events_artifact_once
  on execution_events (execution_id, (event ->> 'step'), (event ->> 'name'))
  where event ->> 'type' = 'artifact' and event ? 'step';
alter table execution_events attach partition execution_events_undated
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);
create trigger execution_events_numbered before insert on execution_events
  for each row execute function number_execution_event();
create trigger execution_events_told after insert on execution_events
  referencing new table as written
  for each statement execute function tell_execution_events();

alter table run_steps rename to run_steps_undated;
alter index run_steps_pkey rename to run_steps_undated_pkey;
alter index run_steps_in_order rename to run_steps_undated_in_order;

create table run_steps (
  run_id uuid not null,
  step_key text not null
    constraint run_steps_step_key_check check (length(step_key) between 1 and 64),
  position int not null constraint run_steps_position_check check (position >= 0),
  kind text not null
    constraint run_steps_kind_check check (kind in ('task', 'llm', 'tool', 'approval')),
  name text not null,
  path jsonb not null constraint run_steps_path_check check (jsonb_typeof(path) = 'array'),
  parent text,
  state text not null
    constraint run_steps_state_check check (state in ('started', 'finished', 'failed')),
  attempt int not null constraint run_steps_attempt_check check (attempt >= 0),
  started_at timestamptz not null,
  ended_at timestamptz,
  input json,
  usage jsonb,
  error jsonb,
  result json,
  has_payload boolean not null default false,
  primary key (run_id, step_key),
  constraint run_steps_run_id_fkey foreign key (run_id) references executions on delete cascade,
  constraint run_steps_check check ((state = 'started') = (ended_at is null)),
  constraint run_steps_check1 check (state = 'finished' or (result is null and not has_payload)),
  constraint run_steps_check2 check (result is null or not has_payload)
) partition by range (run_id);

create index run_steps_in_order on run_steps (run_id, position);
alter table run_steps attach partition run_steps_undated
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);

alter table run_payloads rename to run_payloads_undated;
alter index run_payloads_pkey rename to run_payloads_undated_pkey;

create table run_payloads (
  run_id uuid not null,
  step_key text not null,
  content json not null,
  primary key (run_id, step_key),
  constraint run_payloads_run_id_fkey foreign key (run_id) references executions on delete cascade
) partition by range (run_id);

alter table run_payloads alter column content set storage external;
alter table run_payloads attach partition run_payloads_undated
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);

alter table run_artifacts rename to run_artifacts_undated;
alter index run_artifacts_pkey rename to run_artifacts_undated_pkey;

create table run_artifacts (
  run_id uuid not null,
  name text not null constraint run_artifacts_name_check
    check (name <> '' and octet_length(name) <= 255 and name !~ '[/\\[:cntrl:]]'),
  step_key text,
  task text not null,
  content text not null,
  size int not null,
  left_out int not null constraint run_artifacts_left_out_check check (left_out >= 0),
  created_at timestamptz not null default now(),
  primary key (run_id, name),
  constraint run_artifacts_run_id_fkey foreign key (run_id) references executions on delete cascade,
  constraint run_artifacts_check
    check (size between 0 and 1048576 and size = octet_length(content))
) partition by range (run_id);

alter table run_artifacts attach partition run_artifacts_undated
  for values from ('00000001-0000-0000-0000-000000000000') to (maxvalue);

-- The days that have partitions.
create table run_days (day date primary key);

create function first_run_id(of date) returns uuid language sql immutable strict as $$
  select (lpad(to_hex(of - date '1970-01-01'), 12, '0') || repeat('0', 20))::uuid
$$;

-- The day of a run; null where its id has none.
create function run_day(id uuid) returns date language sql immutable strict as $$
  select case when id < '00000001-0000-0000-0000-000000000000'
    then date '1970-01-01'
      + ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint::int end
$$;

-- One plan for all runs, of which only the partition of the run is begun: to plan anew, or to begin
-- all partitions, would take longer than the look itself.
alter function number_execution_event() set plan_cache_mode = force_generic_plan;

create function last_step_position(of uuid) returns int language plpgsql stable
set plan_cache_mode = force_generic_plan as $$
begin
  return (select max(position) from run_steps where run_id = of);
end $$;

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

alter table executions alter column id set default new_run_id();
