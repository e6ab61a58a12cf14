-- Whose spans they are: '' for the platform's own, else the organization in the sender's token. It
-- becomes part of what identifies a span, in three steps, during which spans are written all the
-- while: the columns (this file), the index (0007), the end of the old key (0008).
--
-- While replicas of an older program still run:
-- - Those before 0005 do not name the column. Their new spans are stored, with '' from the default.
-- - Those of 0005 write null into it. The constraint below then raises 55000 rather than fails: an
--   older program takes a failed check, and a null in a column that is `not null`, for a fault of
--   the row and rejects the row. After 55000 it keeps its rows, acknowledges none of them, and
--   tries again; their senders get 503 and repeat at a replica of this program.
-- - They create no more days: a new partition lacks the constraint (42804). Three are there ahead.
-- - From 0008 on, spans that come again find no key for `on conflict` (42P10). Their batch stays in
--   the older replica in the same way.
-- So nothing is acknowledged that is not stored, and nothing is stored twice. What an older replica
-- still holds when it stops was never acknowledged, and is repeated by its senders.
set local lock_timeout = '2s';

create function raise_older_program() returns bool language plpgsql as $$
begin
  raise exception 'This program is older than the schema of its database.'
    using errcode = 'object_not_in_prerequisite_state',
      hint = 'Wait until the upgrade has replaced it.';
end
$$;

-- The column of 0005 was never filled. A new one has its default for the rows that are there, which
-- are not touched; the views let go of the old one first.
do $$
declare
  end_time text := 'start_time + duration_ns / 1000 * interval ''1 microsecond'' as end_time';
  columns text;
begin
  select string_agg(
      case attname
        when 'end_time' then end_time
        when 'organization' then '''''::text as organization'
        else format('spans.%I', attname)
      end,
      ', ' order by attnum
    )
  into columns
  from pg_attribute where attrelid = 'live_spans'::regclass and attnum > 0;
  execute format(
    'create or replace view live_spans as select %s from spans
     where start_time >= now() - (select weeks * interval ''1 week'' from retention)',
    columns
  );
end
$$;

alter table spans drop column organization;
alter table spans add column organization text default '';
-- `not valid`: the rows that are there have the default, and need not be read to know it.
alter table spans add constraint spans_organization
  check (organization is not null or raise_older_program()) not valid;

alter table resources add column organization text not null default '';
alter table scopes add column organization text not null default '';
alter table span_rejects add column organization text not null default '';

-- The organization to which the transaction is limited, by `set_config('collector.organization', …,
-- true)`; null for none. After such a transaction the setting is empty rather than not set.
create function reading_organization() returns text language sql stable parallel safe as $$
  select nullif(current_setting('collector.organization', true), '')
$$;

-- As in 0004, and limited to one organization where the transaction is. Whoever reads the views has
-- only the rows that he may read in the tables.
create or replace function refresh_span_views() returns void language plpgsql as $$
declare
  end_time text := 'start_time + duration_ns / 1000 * interval ''1 microsecond'' as end_time';
  columns text;
begin
  select string_agg(
      case when name = 'end_time' then end_time else format('spans.%I', name) end,
      ', ' order by is_new, place
    )
  into columns
  from (
    select attname as name, attnum as place, false as is_new
    from pg_attribute where attrelid = 'live_spans'::regclass and attnum > 0
    union all
    select attname, attnum, true
    from pg_attribute
    where attrelid = 'spans'::regclass and attnum > 0 and not attisdropped
      and attname not in (select attname from pg_attribute where attrelid = 'live_spans'::regclass)
  ) as shown;

  -- Expired spans are gone at once here, though their day's partition may live some hours longer.
  execute format(
    'create or replace view live_spans with (security_invoker = true) as select %s from spans
     where start_time >= now() - (select weeks * interval ''1 week'' from retention)
       and ((select reading_organization()) is null
         or organization = (select reading_organization()))',
    columns
  );

  -- Tokens and cost by call. A model call with another one below it (a wrapper) is left out, or it
  -- would count twice. What lies below a call begins an hour before it (clocks differ) to a day
  -- after it has ended: without these bounds each call would be looked up in the indexes of every
  -- day.
  execute '
    create or replace view llm_calls with (security_invoker = true) as
    select outer_call.*
    from live_spans as outer_call
    where llm_call
      and not exists (
        -- "union", not "union all": spans that name each other as parents must not recurse for ever
        with recursive below as (
          select span_id, llm_call
          from spans
          where trace_id = outer_call.trace_id and parent_span_id = outer_call.span_id
            and organization = outer_call.organization
            and start_time >= outer_call.start_time - interval ''1 hour''
            and start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
          union
          select child.span_id, child.llm_call
          from below join spans as child on child.parent_span_id = below.span_id
          where child.trace_id = outer_call.trace_id
            and child.organization = outer_call.organization
            and child.start_time >= outer_call.start_time - interval ''1 hour''
            and child.start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )
        select from below where llm_call
      )';
end
$$;

select refresh_span_views();
