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

select protect_by_organization('span_texts');
select protect_by_organization('traces_to_extract');
select grant_to_readers('searched_texts');
select grant_to_readers('text_search');
