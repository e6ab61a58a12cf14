-- What lists search for texts: the beginning of the prompts and answers of model calls, tools and
-- agents. One collector at a time writes it from committed spans. Its index is made at the start of
-- the collector, where the server has the extension pg_trgm.
create table span_texts (
  start_time timestamptz not null,
  trace_id uuid not null,
  span_id int8 not null,
  organization text not null,
  -- of the span when its text was read: a span that comes again with another end is read anew
  duration_ns int8,
  text text not null
) partition by range (start_time);

create index span_texts_trace on span_texts (trace_id);

-- Which traces have spans in this day whose texts have to be read, as in `touched_traces`.
create table traces_to_extract (
  noted_at timestamptz not null default now(),
  organization text not null,
  day date not null,
  trace_ids bytea not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

alter table traces_to_extract alter column trace_ids set storage external;

create index traces_to_extract_noted_at on traces_to_extract (noted_at);

-- `on`; `off` by the setting; `unavailable` without the extension.
create table text_search (
  only_row bool primary key default true check (only_row),
  state text not null check (state in ('on', 'off', 'unavailable'))
);

insert into text_search (state) values ('off');

-- As `listed_traces`: an index on trigrams would not be used below row-level security.
create view searched_texts as
select * from span_texts
where start_time >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

-- The traces with a text, at most so many spans of them. The planner takes a look into a text for
-- as cheap as one at a number, and would read whole days rather than the index.
create function find_texts(pattern text, of_organization text, since timestamptz, most int)
returns table (organization text, trace_id uuid)
language plpgsql stable set enable_seqscan = off set plan_cache_mode = force_custom_plan as $$
begin
  return query
  select found.organization, found.trace_id from searched_texts as found
  where found.text ilike pattern
    and (of_organization is null or found.organization = of_organization)
    and (since is null or found.start_time >= since)
  limit most;
end
$$;

-- As in 0010, with the views that were made since.
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
    searched_texts, text_search, retention to collector_reader;
end
$$;

select protect_readers();
