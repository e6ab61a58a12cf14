-- What readers use instead of the tables.

-- The organization to which the transaction is limited, by
-- `set_config('collector.organization', …, true)`; null for none. An empty setting is what a
-- transaction leaves behind, and stands for none; U+0001, which no name of an organization may
-- have, stands for the platform itself, whose rows have ''.
create function reading_organization() returns text language sql stable parallel safe
as $$
  select case setting when '' then null when U&'\0001' then '' else setting end
  from (select current_setting('collector.organization', true) as setting) as given
$$;

-- Brings the views up to date with the columns of `spans`: a view keeps the columns that its table
-- had when it was made. A migration that adds a column ends with `select refresh_span_views();`.
-- Columns keep their order, as PostgreSQL demands of a view that is replaced, so new ones are last.
-- Both views are limited to one organization where the transaction is, and their readers have only
-- the rows that they may read in the tables.
create function refresh_span_views() returns void language plpgsql as $$
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

  -- Tokens and cost by call. Most calls have no span below them and no call of another source
  -- beside them, and nothing more is looked at. What lies there begins an hour before a call
  -- (clocks differ) to a day after it has ended: without these bounds each call would be looked up
  -- in the indexes of every day.
  execute '
    create or replace view llm_calls with (security_invoker = true) as
    select outer_call.*
    from live_spans as outer_call
    where llm_call
      and (
        not exists (
          select from spans as child
          where child.trace_id = outer_call.trace_id
            and (child.parent_span_id = outer_call.span_id
              or (outer_call.input_tokens > 0 or outer_call.output_tokens > 0) is not true
              or child.llm_call
                and child.parent_span_id is not distinct from outer_call.parent_span_id
                and (child.scope_id, child.name) <> (outer_call.scope_id, outer_call.name))
            and child.organization = outer_call.organization
            and child.start_time >= outer_call.start_time - interval ''1 hour''
            and child.start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )
        or outer_call.span_id <> all ((
          select uncounted_calls(
            array_agg(span_id), array_agg(parent_span_id), array_agg(start_time),
            array_agg(duration_ns), array_agg(call_role(llm_call, status, operation_kind)),
            array_agg(call_usage(
              llm_call, call_model(llm_call, request_model, response_model), input_tokens,
              output_tokens
            )),
            array_agg(call_model(llm_call, request_model, response_model)),
            array_agg(scope_id || '' '' || name), array_agg(response_id)
          )
          from spans as near
          where near.trace_id = outer_call.trace_id
            and near.organization = outer_call.organization
            and near.start_time >= outer_call.start_time - interval ''1 hour''
            and near.start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )::int8[])
      )';
end
$$;

-- For their columns; the function gives them their conditions.
create view live_spans as select spans.*, start_time as end_time from spans;
select refresh_span_views();

-- No expired traces, and none of other organizations where the transaction is limited to one. Both
-- conditions are cheap beside an index on `start_time`.
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

-- The views below read with the rights of their owner, and their condition is what limits a
-- reader: below row-level security an index on an array, or on trigrams, would not be used, because
-- its operator is not leakproof.
create view listed_traces as
select * from traces
where start_time >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

create view listed_usage as
select * from usage_hourly
where hour >= date_trunc('hour', now() - (select weeks * interval '1 week' from retention), 'UTC')
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

create view searched_texts as
select * from span_texts
where start_time >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

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
