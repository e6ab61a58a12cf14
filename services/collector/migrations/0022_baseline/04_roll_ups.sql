-- What lists and totals read, so that they need not read the spans of 91 days. One collector at a
-- time, the leader, brings it up to date from committed spans.

-- Written in the transaction that commits the spans: which traces they belong to, by the day of
-- their start. The leader deletes the oldest rows.
create table touched_traces (
  noted_at timestamptz not null default now(),
  organization text not null default '',
  day date not null,
  -- of 16 bytes each, back to back; one may be there twice
  trace_ids bytea not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

alter table touched_traces alter column trace_ids set storage external;

create index touched_traces_noted_at on touched_traces (noted_at);

-- Days whose spans were stored without a note; the leader rolls them up when nothing else is left.
create table days_to_roll_up (
  day date not null,
  -- not before this time
  due_at timestamptz not null default now(),
  -- the traces up to this one are done
  after_trace uuid,
  primary key (day, due_at)
);

-- What one trace has added to `usage_hourly` in an hour and for a model; null adds nothing.
create type usage_part as (
  hour timestamptz,
  model text,
  calls int8,
  errors int8,
  input_tokens int8,
  output_tokens int8,
  cache_read_tokens int8,
  cache_write_tokens int8,
  reasoning_tokens int8,
  audio_input_tokens int8,
  audio_output_tokens int8,
  reported_cost_usd numeric,
  computed_cost_usd numeric,
  cost_usd numeric,
  unpriced int8,
  duration_us int8,
  up_to_125_ms int8,
  up_to_250_ms int8,
  up_to_500_ms int8,
  up_to_1000_ms int8,
  up_to_2000_ms int8,
  up_to_4000_ms int8,
  up_to_8000_ms int8,
  up_to_16000_ms int8,
  up_to_32000_ms int8,
  up_to_64000_ms int8,
  up_to_128000_ms int8,
  above_128000_ms int8
);

-- One row per trace. Two organizations may use the same trace id: these are two traces.
create table traces (
  trace_id uuid not null,
  -- the start of the root; while there is none, of the first span
  start_time timestamptz not null,
  -- of any of its spans: a look at these days finds all of them
  first_start timestamptz not null,
  last_start timestamptz not null,
  -- the latest end of any of its spans
  end_time timestamptz,
  -- of the root; null while it has no end
  duration_ns int8,
  root_span_id int8,
  start_ns int2 not null,
  -- `incomplete`: no root; `running`: its root has no end; `ok`; `error`
  status text not null,
  name text not null,
  service text,
  -- an empty text stands for none
  organization text not null,
  crew_id text,
  kickoff_id text,
  session_id text,
  user_id text,
  agents text[] not null,
  models text[] not null,
  spans int8 not null,
  error_spans int8 not null,
  -- these and what follows are of model calls that have no other one below them
  llm_calls int8 not null,
  input_tokens int8 not null,
  output_tokens int8 not null,
  cache_read_tokens int8 not null,
  cache_write_tokens int8 not null,
  reasoning_tokens int8 not null,
  audio_input_tokens int8 not null,
  audio_output_tokens int8 not null,
  -- the sender's own; null when no call has one
  reported_cost_usd numeric,
  -- by the table of prices; null when no call's model is in it
  computed_cost_usd numeric,
  -- the sender's own where there is one, else the computed
  cost_usd numeric,
  -- what the trace has added to `usage_hourly`, to take that off before it adds anew
  usage usage_part[] not null,
  -- names of services, models, agents, tasks, tools and types of errors, each after its kind
  terms text[] not null default '{}',
  primary key (organization, trace_id)
) with (fillfactor = 85);

create index traces_start on traces (start_time, trace_id);
create index traces_failed on traces (start_time, trace_id) where status = 'error';
create index traces_open on traces (start_time, trace_id)
where status in ('running', 'incomplete');
create index traces_crew on traces (crew_id, start_time, trace_id) where crew_id is not null;
create index traces_kickoff on traces (kickoff_id, start_time, trace_id)
where kickoff_id is not null;
create index traces_session on traces (session_id, start_time, trace_id)
where session_id is not null;
create index traces_user on traces (user_id, start_time, trace_id) where user_id is not null;
create index traces_organization on traces (organization, start_time, trace_id)
where organization <> '';

-- A short list of pending entries: each search reads it.
create index traces_terms on traces using gin (terms) with (gin_pending_list_limit = 1024);

create index traces_duration on traces (duration_ns, start_time, trace_id)
where duration_ns is not null;
create index traces_cost on traces (cost_usd, start_time, trace_id) where cost_usd is not null;
create index traces_tokens on traces ((input_tokens + output_tokens), start_time, trace_id);
-- The latest traces of sessions, of which the last one of each stands for it.
create index traces_in_sessions on traces (start_time, trace_id) where session_id is not null;
-- For lists without the requests to the platform itself: of an organization whose programs ask for
-- the status of their runs, a list would otherwise read past most of its traces.
create index traces_without_requests on traces (organization, start_time, trace_id)
where service is distinct from 'crew-platform-web';

-- Model calls by the hour of their start. An empty text stands for none.
create table usage_hourly (
  hour timestamptz not null,
  organization text not null,
  crew_id text not null,
  model text not null,
  calls int8 not null,
  errors int8 not null,
  input_tokens int8 not null,
  output_tokens int8 not null,
  cache_read_tokens int8 not null,
  cache_write_tokens int8 not null,
  reasoning_tokens int8 not null,
  audio_input_tokens int8 not null,
  audio_output_tokens int8 not null,
  reported_cost_usd numeric not null,
  computed_cost_usd numeric not null,
  cost_usd numeric not null,
  -- calls whose cost is not known
  unpriced int8 not null,
  duration_us int8 not null,
  -- ended calls by their duration: up to this many milliseconds and above the column before it
  up_to_125_ms int8 not null,
  up_to_250_ms int8 not null,
  up_to_500_ms int8 not null,
  up_to_1000_ms int8 not null,
  up_to_2000_ms int8 not null,
  up_to_4000_ms int8 not null,
  up_to_8000_ms int8 not null,
  up_to_16000_ms int8 not null,
  up_to_32000_ms int8 not null,
  up_to_64000_ms int8 not null,
  up_to_128000_ms int8 not null,
  above_128000_ms int8 not null,
  primary key (hour, organization, crew_id, model)
) with (fillfactor = 85);

create index usage_hourly_empty on usage_hourly (hour) where calls = 0;

-- The oldest day that the roll-ups have; once that day is dropped, so is what they have of it.
create table oldest_rolled_up (
  only_row bool primary key default true check (only_row),
  -- `infinity` while there are no days
  day date not null
);

insert into oldest_rolled_up (day) values ('infinity');

-- What totals and histograms read of whole days, rather than each of their traces.

-- The days in which traces start. Its sums hold while `is_summed`: any change of its traces
-- ends that, and readers then go through the traces of that day.
create table trace_days (
  day date primary key,
  changed_at timestamptz not null default now(),
  is_summed bool not null default false
) with (fillfactor = 50);

-- The sums of a day's traces. An empty text stands for none.
create table traces_daily (
  day date not null,
  organization text not null,
  crew_id text not null,
  service text not null,
  status text not null,
  traces int8 not null,
  spans int8 not null,
  error_spans int8 not null,
  llm_calls int8 not null,
  input_tokens int8 not null,
  output_tokens int8 not null,
  cache_read_tokens int8 not null,
  cache_write_tokens int8 not null,
  reasoning_tokens int8 not null,
  audio_input_tokens int8 not null,
  audio_output_tokens int8 not null,
  reported_cost_usd numeric,
  computed_cost_usd numeric,
  cost_usd numeric,
  -- how many traces start in each hour of the day, of 24
  hours int4[] not null,
  -- numbers of ranges of durations, and how many traces are in each
  ranges int4[] not null,
  counts int4[] not null,
  primary key (day, organization, crew_id, service, status)
);

-- A change of traces notes their days in the same transaction. For each statement, not for each
-- row: the leader of the roll-ups writes thousands at a time.
create function note_trace_days() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    insert into trace_days (day)
    select distinct (start_time at time zone 'UTC')::date from added order by 1
    on conflict (day) do update set changed_at = excluded.changed_at, is_summed = false;
  end if;
  if tg_op <> 'INSERT' then
    insert into trace_days (day)
    select distinct (start_time at time zone 'UTC')::date from removed order by 1
    on conflict (day) do update set changed_at = excluded.changed_at, is_summed = false;
  end if;
  return null;
end
$$;

create trigger note_added_days after insert on traces referencing new table as added
for each statement execute function note_trace_days();
create trigger note_changed_days after update on traces
referencing old table as removed new table as added
for each statement execute function note_trace_days();
create trigger note_removed_days after delete on traces referencing old table as removed
for each statement execute function note_trace_days();

-- Which traces the leader of the roll-ups has brought up to date, for clients that follow them. One
-- leader at a time writes here, each turn in one transaction, so the order of the numbers is that
-- of the commits: a client that has read up to one of them misses nothing. The oldest are deleted.
create table trace_changes (
  revision int8 generated always as identity primary key,
  organization text not null,
  trace_id uuid not null
);
