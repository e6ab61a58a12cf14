-- What lists search for texts: signatures, which say in which spans a text may be. The texts
-- themselves are read in these spans. Those of `span_texts` stay there until their day is dropped,
-- a span of their trace arrives, or all is made anew.
create table text_signatures (
  -- of the first and of the last of these spans, all of one day
  start_time timestamptz not null,
  last_start timestamptz not null,
  organization text not null,
  -- how many spans; below 256 there is room for more
  texts int2 not null,
  -- for each span, whose it is, and which one it was when its text was read
  trace_ids uuid[] not null,
  members int8[] not null,
  -- 2^n rows, each with a bit for every span; null, as if any text were there, until it is remade
  signature bytea
) partition by range (start_time);

-- Rows are read one by one.
alter table text_signatures alter column signature set storage external;

-- Which spans of a trace are there. Changes apply at once: a list of pending ones would be read for
-- each trace.
create index text_signatures_traces on text_signatures
using gin (trace_ids) with (fastupdate = off);

create index text_signatures_open on text_signatures (organization)
where signature is null or texts < 256;

select protect_by_organization('text_signatures');

create view searched_signatures as
select * from text_signatures
where last_start >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

-- As in 0019, with the view that was made since.
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
    searched_texts, searched_signatures, text_search, retention, summed_days, listed_traces_daily
    to collector_reader;
end
$$;

select protect_readers();
