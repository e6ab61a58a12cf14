-- Days whose spans are in files of an object store. Their partitions stay, empty: for some minutes
-- they have the spans of traces that are being read. Roll-ups and signatures of the search stay.
create table archived_days (
  day date primary key,
  -- `writing`: its files are made; `verified`: they have what the partition has; `dropped`: the
  -- partition has been emptied
  state text not null check (state in ('writing', 'verified', 'dropped')),
  -- of the partition when it was compared: any change since gives another one
  fingerprint text,
  changed_at timestamptz not null default now(),
  failed_at timestamptz,
  failure text
);

-- What is in each file: traces of one organization, from the first to the last one by their ids.
create table archived_files (
  path text primary key,
  added int8 generated always as identity,
  day date not null,
  organization text not null,
  first_trace uuid not null,
  last_trace uuid not null,
  spans int8 not null,
  bytes int8 not null,
  sha256 bytea not null
);

create index archived_files_traces on archived_files (organization, day, first_trace);

-- Traces whose spans have been brought back into the partition of their day.
create table restored_traces (
  day date not null,
  organization text not null,
  trace_id uuid not null,
  restored_at timestamptz not null default now(),
  primary key (day, organization, trace_id)
);

-- Files that are to be removed: those that nothing refers to any more, and those that are being
-- written, in case that is cut off.
create table files_to_remove (
  path text primary key,
  due_at timestamptz not null default now()
);

-- For how many days spans stay outside of files, as the collector has it; null for all.
alter table retention add column hot_days int;

select protect_by_organization('archived_files');
select protect_by_organization('restored_traces');

-- As in 0023, with the table that was made since.
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
    searched_texts, searched_signatures, text_search, retention, summed_days, listed_traces_daily,
    archived_days to collector_reader;
end
$$;

select protect_readers();
