-- What totals and histograms read of whole days, rather than each of their traces.

-- The days in which traces start. Its sums hold while `is_summed`: any change of its traces takes
-- that back, and readers then go through the traces of that day.
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

-- Whoever changes traces notes their days in the same transaction. For each statement, not for each
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

insert into trace_days (day)
select day from generate_series(
  (select min(start_time) at time zone 'UTC' from traces)::date,
  (select max(start_time) at time zone 'UTC' from traces)::date, interval '1 day'
) as day;

select protect_by_organization('traces_daily');

-- The days whose sums hold and of which nothing has expired yet.
create view summed_days as
select day, day::timestamp at time zone 'UTC' as begins,
  (day + 1)::timestamp at time zone 'UTC' as ends
from trace_days
where is_summed
  and day::timestamp at time zone 'UTC'
    >= now() - (select weeks * interval '1 week' from retention);

create view listed_traces_daily as
select * from traces_daily
where (select reading_organization()) is null
  or organization = (select reading_organization());

-- To estimate how many texts fit a pattern, the planner would try it on the hundreds of texts in
-- the statistics of each day: ten times the work of the search itself.
do $$
declare
  day regclass;
begin
  for day in
    select 'span_texts'::regclass
    union all
    select inhrelid::regclass from pg_inherits where inhparent = 'span_texts'::regclass
  loop
    execute format('alter table %s alter column text set statistics 1', day);
  end loop;
end
$$;

analyze span_texts (text);

-- As in 0014, with the views that were made since.
create or replace function protect_readers() returns void language plpgsql as $$
declare
  protected regclass;
begin
  if to_regrole('collector_reader') is null then
    return;
  end if;
  for protected in
    select c.oid::regclass
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = (select relnamespace from pg_class where oid = 'spans'::regclass)
      and c.relkind in ('r', 'p') and not c.relispartition
      and a.attname = 'organization' and not a.attisdropped
  loop
    perform protect_by_organization(protected);
  end loop;
  execute format(
    'grant usage on schema %s to collector_reader',
    (select relnamespace::regnamespace from pg_class where oid = 'spans'::regclass)
  );
  grant select on live_spans, llm_calls, live_traces, live_usage, listed_traces, listed_usage,
    searched_texts, text_search, retention, summed_days, listed_traces_daily to collector_reader;
end
$$;

select protect_readers();
