-- What single organizations have of a day may be in files before what others have.

set local lock_timeout = '2s';

-- For how many days spans of an organization stay outside of files, as the collector has it, where
-- that is fewer than for all.
create table organization_hot_days (
  organization text primary key,
  days int not null
);

-- What an organization has of a day that is archived while the rest of the day is in the database;
-- with the states of `archived_days`. The row goes once the whole day is archived.
create table archived_parts (
  day date not null,
  organization text not null,
  state text not null check (state in ('writing', 'verified', 'dropped')),
  -- of all that was compared at the same time, in the rows of each organization
  fingerprint text,
  changed_at timestamptz not null default now(),
  failed_at timestamptz,
  failure text,
  primary key (organization, day)
);

create index archived_parts_day on archived_parts (day);

-- Whether the spans that an organization has of a day are in files, and not in the database.
create function is_archived(of_organization text, of_day date) returns bool
language sql stable as $$
  select exists (select from archived_days where day = of_day and state = 'dropped')
    or exists (
      select from archived_parts
      where organization = of_organization and day = of_day and state = 'dropped'
    )
$$;

-- The files of which the spans are not in the database.
create view cold_files with (security_invoker = true) as
select file.* from archived_files as file
where (
    exists (select from archived_days d where d.day = file.day and d.state = 'dropped')
    or exists (
      select from archived_parts p
      where p.organization = file.organization and p.day = file.day and p.state = 'dropped'
    )
  )
  and ((select reading_organization()) is null
    or file.organization = (select reading_organization()));

select protect_by_organization('organization_hot_days');
select protect_by_organization('archived_parts');

-- As in 0025, with the view that was made since.
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
    archived_days, cold_files to collector_reader;
end
$$;

select protect_readers();
