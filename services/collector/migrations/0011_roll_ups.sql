-- What lists and totals read, so that they need not go through the spans of 91 days. One collector
-- at a time, the leader, brings it up to date from committed spans.

-- Written in the transaction that commits the spans: which traces they belong to, by the day of
-- their start. The leader takes the oldest rows away.
create table touched_traces (
  noted_at timestamptz not null default now(),
  organization text not null default '',
  day date not null,
  -- of 16 bytes each, back to back; one may come twice
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
  -- what the trace has added to `usage_hourly`, to take that away before it adds anew
  usage usage_part[] not null,
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

-- Spans that are there already; and once more those that replicas of an earlier version write while
-- they are replaced, which note nothing.
insert into days_to_roll_up (day, due_at)
select to_date(right(relid::regclass::text, 8), 'YYYYMMDD'), now() + later
from pg_partition_tree('spans'), (values (interval '0'), (interval '1 hour')) as pass (later)
where isleaf and level > 0
  and (later = interval '0'
    or to_date(right(relid::regclass::text, 8), 'YYYYMMDD') >= current_date - 1);

-- Lists read `traces` now, and ingest need not keep these.
drop index spans_roots;
drop index spans_failed_roots;
drop index spans_crew_roots;
drop index spans_kickoff_roots;

-- What readers use: expired traces are gone at once here, and those of other organizations where
-- the transaction is limited to one. Both are cheap beside an index on `start_time`.
create view live_traces with (security_invoker = true) as
select * from traces
where start_time >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

create view live_usage with (security_invoker = true) as
select * from usage_hourly
where hour >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

select protect_by_organization('touched_traces');
select protect_by_organization('traces');
select protect_by_organization('usage_hourly');

do $$
begin
  if to_regrole('collector_reader') is not null then
    grant select on live_traces, live_usage to collector_reader;
  end if;
end
$$;
