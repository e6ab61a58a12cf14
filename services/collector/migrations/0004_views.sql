-- Brings the views up to date with the columns of `spans`: a view keeps the columns that its table had when it was made.
-- A migration that adds a column ends with `select refresh_span_views();`. Columns keep their order, as PostgreSQL demands
-- of a view that is replaced, so new ones come last.
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
    'create or replace view live_spans as select %s from spans
     where start_time >= now() - (select weeks * interval ''1 week'' from retention)',
    columns
  );

  -- Tokens and cost by call. A model call with another one below it (a wrapper) is left out, or it would count twice.
  -- What lies below a call begins an hour before it (clocks differ) to a day after it has ended: without these bounds each
  -- call would be looked up in the indexes of every day.
  execute '
    create or replace view llm_calls as
    select outer_call.*
    from live_spans as outer_call
    where llm_call
      and not exists (
        -- "union", not "union all": spans that name each other as parents must not recurse for ever
        with recursive below as (
          select span_id, llm_call
          from spans
          where trace_id = outer_call.trace_id and parent_span_id = outer_call.span_id
            and start_time >= outer_call.start_time - interval ''1 hour''
            and start_time <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
          union
          select child.span_id, child.llm_call
          from below join spans as child on child.parent_span_id = below.span_id
          where child.trace_id = outer_call.trace_id
            and child.start_time >= outer_call.start_time - interval ''1 hour''
            and child.start_time <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )
        select from below where llm_call
      )';
end
$$;

select refresh_span_views();
