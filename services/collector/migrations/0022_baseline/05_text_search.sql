-- What lists search for texts: the beginning of the prompts and answers of model calls, tools and
-- agents. One collector at a time writes it from committed spans. Its index is made at the start of
-- the collector, where the server has the extension pg_trgm.
create table span_texts (
  start_time timestamptz not null,
  trace_id uuid not null,
  span_id int8 not null,
  organization text not null,
  -- of the span when its text was read: a span that is sent again with another end is read anew
  duration_ns int8,
  text text not null,
  -- where the last message of the input begins, in units of UTF-16; null without one
  asked_at int2,
  -- where the output begins; null without one
  answered_at int2
) partition by range (start_time);

-- What lists show of the conversation of a trace is in these texts, too: the question and the
-- answer.
create index span_texts_in_order on span_texts (trace_id, start_time);

-- To estimate how many texts fit a pattern, the planner would try it on the hundreds of texts in
-- the statistics of each day: ten times the work of the search itself.
alter table span_texts alter column text set statistics 1;

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
